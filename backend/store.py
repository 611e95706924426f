"""The store as used by the backend: sessions whose errors are translated.

`db/` is independent of the backend and raises its own errors. They are translated here to the
errors of `backend.errors`, so that pages and commands have to handle only one hierarchy.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import MetaData, Table, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.orm import Session

import db
from backend import plugins
from backend.datasets.safe_files.regular_files import refuse_database
from backend.errors import NotFound, SettingsError, StoreError, TracedError, VerdictConflict
from db import errors as db_errors
from db import feature_tables
from db.backup import backup
from db.queries import computed_table_queries, setting_queries
from db.queries.blind_review import set_reader

log = logging.getLogger(f"traced.{__name__}")

Row = TypeVar("Row")
Result = TypeVar("Result")
P = ParamSpec("P")

_TRANSLATIONS: list[tuple[type[Exception], type[TracedError]]] = [
    (db_errors.StoreProblem, StoreError),
    (db_errors.MissingRow, NotFound),
    (db_errors.AlreadyExists, SettingsError),
    (db_errors.VersionConflict, VerdictConflict),
]


class _Snapshot(NamedTuple):
    """A session that several queries share, see `Store.snapshot`."""

    opened: db.Store
    reader: str | None
    session: Session

    def fits(self, store: "Store") -> bool:
        return store.opened is self.opened and store.reader == self.reader


_SNAPSHOT: ContextVar[_Snapshot | None] = ContextVar("shared session", default=None)


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise the store's errors as ours, with their message."""
    try:
        yield
    except tuple(theirs for theirs, _ in _TRANSLATIONS) as error:
        ours = next(ours for theirs, ours in _TRANSLATIONS if isinstance(error, theirs))
        raise ours(str(error), terminal=getattr(error, "terminal", "")) from error


class Store:
    """An open database. Sessions are short: read or write, never compute inside `writing()`.
    `reader`: who asks, see `db.queries.blind_review`."""

    def __init__(self, store: db.Store, reader: str | None = None) -> None:
        self._store = store
        self.reader = reader

    def seen_by(self, reader: str) -> "Store":
        """The same database; of pairs that still need this curator's own opinion, what others said
        is hidden."""
        return Store(self._store, reader)

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A read-only session on a consistent snapshot."""
        snapshot = _SNAPSHOT.get()
        if snapshot is not None and snapshot.fits(self):
            with translate_errors():
                yield snapshot.session
            return
        with translate_errors(), self._store.reading() as session:
            set_reader(session, self.reader)
            yield session

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Until the block ends, what this thread reads from here is the state at its beginning,
        through one session: a page is drawn by many small queries. Write nothing inside: with two
        connections for each request a pool could run dry."""
        with self.reading() as session:
            outside = _SNAPSHOT.set(_Snapshot(self._store, self.reader, session))
            try:
                yield
            finally:
                _SNAPSHOT.reset(outside)

    def batches(
        self,
        query: Callable[[Session, int], Sequence[Row]],
        id_of: Callable[[Row], int] = attrgetter("id"),
    ) -> Iterator[Sequence[Row]]:
        """What `query`(session, id of the last row so far, at first 0) returns until that is empty,
        in a session each, so that a long job keeps none open."""
        after = 0
        while True:
            with self.reading() as session:
                rows = query(session, after)
            if not rows:
                return
            yield rows
            after = id_of(rows[-1])

    @contextmanager
    def writing(self, large: bool = False) -> Iterator[Session]:
        """A session that commits when the block ends, and rolls back when it raises. `large`: set
        it to write a large part of the database."""
        with translate_errors(), self._store.writing(large) as session:
            set_reader(session, self.reader)
            yield session

    def read(
        self,
        query: Callable[Concatenate[Session, P], Result],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Result:
        """The answer to one query, in a session of its own; not for queries that stream."""
        with self.reading() as session:
            return query(session, *arguments, **options)

    def write(
        self,
        query: Callable[Concatenate[Session, P], Result],
        *arguments: P.args,
        **options: P.kwargs,
    ) -> Result:
        """Run one query in a transaction of its own; returns its answer."""
        with self.writing() as session:
            return query(session, *arguments, **options)

    @property
    def opened(self) -> db.Store:
        """The underlying store, for operations on the whole database."""
        return self._store

    def backup(self, target: Path) -> Path:
        """A consistent copy, even while others write; see `db.backup`."""
        with translate_errors():
            return backup(self._store, target)

    @property
    def address(self) -> str:
        """The database's URL without its password."""
        return self._store.address

    @cached_property
    def identity(self) -> str:
        """A unique name of the database, for files stored next to it by dataset id."""
        with self.writing() as session:
            return setting_queries.identity(session)

    def close(self) -> None:
        self._store.close()


def tables_of_features() -> tuple[MetaData, ...]:
    """The tables that features and other packages add."""
    return plugins.load("tables", MetaData, feature_tables.joining())


def create_tables_of_features(store: db.Store) -> None:
    """Create those that the database lacks, which keeps what they are about; what cannot be
    created is logged."""
    for tables in tables_of_features():
        try:
            feature_tables.create_missing(store, tables)
        except SQLAlchemyError as problem:  # of whatever its author declared
            log.warning("tables of a feature cannot be created: %s", problem)
    with store.reading() as session:
        is_new = computed_table_queries.lacks(session, tables_of_features())
    if is_new:
        with store.writing() as session:
            computed_table_queries.keep(session, tables_of_features())


def computed_tables(session: Session) -> list[Table]:
    """Those of them in the database that say something of a pair's picture or caption."""
    there = inspect(session.connection())
    return [
        table
        for tables in tables_of_features()
        for table in tables.sorted_tables
        if feature_tables.is_computed(table) and there.has_table(table.name)
    ]


def all_computed_tables(session: Session) -> list[Table]:
    """These, and those of features that are not there, with `pair_id` alone."""
    absent = computed_table_queries.of_absent_features(session, tables_of_features())
    return [*computed_tables(session), *absent]


def is_missing(url: str) -> bool:
    """Whether the URL names a SQLite file that does not exist: opening it would create it."""
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):
        return False  # opening it reports what is wrong
    file = address.database if address.get_backend_name() == "sqlite" else None
    return bool(file) and file != ":memory:" and not Path(str(file)).exists()


def open_database(url: str) -> Store:
    """Open, create or upgrade the database at `url`, with the tables of features. Raises
    StoreError, which says what to do."""
    with translate_errors():
        store = db.open_store(url)
        create_tables_of_features(store)
    if store.dialect == "sqlite":
        refuse_database(Path(str(store.engine.url.database)))
    return Store(store)
