"""The store as the engine's side sees it: sessions whose errors are ours.

`db/` knows nothing of the engine and raises errors of its own. Here, in one place, they become the
errors of `backend.errors`, so that pages and commands have to know one tree only.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from sqlalchemy.orm import Session

import db
from backend.errors import NotFound, SettingsError, StoreError, TracedError, VerdictConflict
from db import errors as db_errors
from db.backup import backup
from db.queries import settings as setting_queries

_TRANSLATIONS: list[tuple[type[Exception], type[TracedError]]] = [
    (db_errors.StoreProblem, StoreError),
    (db_errors.MissingRow, NotFound),
    (db_errors.AlreadyExists, SettingsError),
    (db_errors.VersionConflict, VerdictConflict),
]


@contextmanager
def translated() -> Iterator[None]:
    """Raise the store's errors as ours, with their message."""
    try:
        yield
    except tuple(theirs for theirs, _ in _TRANSLATIONS) as error:
        ours = next(ours for theirs, ours in _TRANSLATIONS if isinstance(error, theirs))
        raise ours(str(error)) from error


class Store:
    """An open database. Sessions are short: read or write, never compute inside `writing()`."""

    def __init__(self, store: db.Store) -> None:
        self._store = store

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A session that sees one moment of the database and cannot write."""
        with translated(), self._store.reading() as session:
            yield session

    @contextmanager
    def writing(self, large: bool = False) -> Iterator[Session]:
        """A session that commits when the block ends, and rolls back when it raises. `large`: it
        writes a good part of the database."""
        with translated(), self._store.writing(large) as session:
            yield session

    @property
    def opened(self) -> db.Store:
        """The store itself, for what concerns the database as a whole."""
        return self._store

    def backup(self, target: Path) -> Path:
        """A consistent copy while others work; see `db.backup`."""
        with translated():
            return backup(self._store, target)

    @property
    def address(self) -> str:
        """The database's URL without its password."""
        return self._store.address

    @cached_property
    def identity(self) -> str:
        """A name that no other database has: for what is kept beside it by a dataset's id."""
        with self.writing() as session:
            return setting_queries.identity(session)

    def close(self) -> None:
        self._store.close()


def open_database(url: str) -> Store:
    """Open, create or upgrade the database at `url`; StoreError says what to do if it cannot be."""
    with translated():
        return Store(db.open_store(url))
