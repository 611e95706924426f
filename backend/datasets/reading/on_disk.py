"""Sets and mappings with bounded memory.

What does not fit is stored in a temporary file, which SQLite manages and removes.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

from backend.datasets.cells import Unusable

#: Key that marks a serialised `Unusable` cell.
_UNUSABLE = "\0unusable"


class SeenIds:
    """The ids read so far, each with what was read under it, to detect duplicates."""

    def __init__(self) -> None:
        self._database = temporary_database(
            "CREATE TABLE seen (id BLOB PRIMARY KEY, content BLOB) WITHOUT ROWID"
        )

    def add(self, identity: str, content: str = "") -> bool | None:
        """Add an id. None: it is new; else whether the same content was added under it."""
        row = _digest(identity), _digest(content)
        if self._database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", row).rowcount:
            return None
        earlier = self._database.execute("SELECT content FROM seen WHERE id = ?", row[:1])
        return bool(earlier.fetchone()[0] == row[1])

    def close(self) -> None:
        self._database.close()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class AmbiguousName(KeyError):
    """An id was given several names."""


class Names:
    """A mapping of JSON values to JSON values, such as image ids to names. 1 and 1.0 are equal, 1
    and "1" differ. An id that is set to several values is ambiguous: no value replaces another."""

    def __init__(self) -> None:
        self._database = temporary_database(
            "CREATE TABLE names (id TEXT PRIMARY KEY, name TEXT, is_ambiguous INT) WITHOUT ROWID"
        )

    def __setitem__(self, identity: Any, name: Any) -> None:
        self._database.execute(
            "INSERT INTO names VALUES (?, ?, 0) ON CONFLICT (id) DO UPDATE "
            "SET is_ambiguous = is_ambiguous OR name <> excluded.name",
            (_key(identity), _to_json(name)),
        )

    def __getitem__(self, identity: Any) -> Any:
        """The stored value. Raises KeyError if there is none, AmbiguousName for several."""
        row = self._database.execute(
            "SELECT name, is_ambiguous FROM names WHERE id = ?", (_key(identity),)
        ).fetchone()
        if row is None:
            raise KeyError(identity)
        if row[1]:
            raise AmbiguousName(identity)
        return json.loads(row[0], object_hook=_unusable)

    def close(self) -> None:
        self._database.close()


class SplitsByPicture:
    """In which split each pair of each picture is, to find the pictures in several. Nothing is
    indexed while pairs are added: they are sorted once, on disk."""

    def __init__(self) -> None:
        self._database = temporary_database(
            "CREATE TABLE places (picture TEXT, split TEXT, pair INT)"
        )

    def add(self, picture: str, split: str, pair: int = 0) -> None:
        self._database.execute("INSERT INTO places VALUES (?, ?, ?)", (picture, split, pair))

    def find_shared(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Each picture in several splits, with their names."""
        rows = self._database.execute(
            "SELECT picture, split FROM places GROUP BY picture, split ORDER BY picture, split"
        )
        for picture, places in groupby(rows, key=itemgetter(0)):
            splits = tuple(split for _, split in places)
            if len(splits) > 1:
                yield picture, splits

    def find_pairs(self) -> Iterator[int]:
        """The pairs of these pictures."""
        rows = self._database.execute(
            "SELECT pair FROM places WHERE picture IN (SELECT picture FROM places "
            "GROUP BY picture HAVING count(DISTINCT split) > 1)"
        )
        return (pair for (pair,) in rows)

    def close(self) -> None:
        self._database.close()


def _key(identity: Any) -> str:
    """Some writers of JSON turn 1 into 1.0: an integral number is written as int."""
    is_integral = isinstance(identity, float) and identity.is_integer()
    return _to_json(int(identity) if is_integral else identity)


def _to_json(value: Any) -> str:
    """The value as JSON; `Unusable` cells are preserved."""
    return json.dumps(value, default=lambda cell: {_UNUSABLE: cell.reason})


def _unusable(value: dict[str, Any]) -> Any:
    return Unusable(value[_UNUSABLE]) if value.keys() == {_UNUSABLE} else value


def temporary_database(tables: str) -> sqlite3.Connection:
    """A database with these tables, in a file that is gone when it is closed."""
    # A reader may be created in one thread and used in another.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA cache_size = -8192")  # KiB
    database.executescript(tables)
    return database
