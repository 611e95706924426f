"""A set and a mapping with bounded memory.

What does not fit is stored in a temporary file, which SQLite manages and removes.
"""

import hashlib
import json
import sqlite3
from typing import Any

from backend.datasets.cells import Unusable

#: Key that marks a serialised `Unusable` cell.
_UNUSABLE = "\0unusable"


class SeenIds:
    """The set of ids read so far, to detect duplicates."""

    def __init__(self) -> None:
        self._database = _temporary("CREATE TABLE seen (id BLOB PRIMARY KEY) WITHOUT ROWID")

    def add(self, identity: str) -> bool:
        """Add an id; return whether it is new."""
        digest = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        done = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (digest,))
        return done.rowcount == 1

    def close(self) -> None:
        self._database.close()


class Names:
    """A mapping of JSON values to JSON values, such as image ids to names. 1 and "1" differ."""

    def __init__(self) -> None:
        self._database = _temporary(
            "CREATE TABLE names (id TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID"
        )

    def __setitem__(self, identity: Any, name: Any) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO names VALUES (?, ?)", (_written(identity), _written(name))
        )

    def __getitem__(self, identity: Any) -> Any:
        """The stored value. Raises KeyError if there is none."""
        row = self._database.execute(
            "SELECT name FROM names WHERE id = ?", (_written(identity),)
        ).fetchone()
        if row is None:
            raise KeyError(identity)
        return json.loads(row[0], object_hook=_unusable)

    def close(self) -> None:
        self._database.close()


def _written(value: Any) -> str:
    """The value as JSON; `Unusable` cells are preserved."""
    return json.dumps(value, default=lambda cell: {_UNUSABLE: cell.reason})


def _unusable(value: dict[str, Any]) -> Any:
    return Unusable(value[_UNUSABLE]) if value.keys() == {_UNUSABLE} else value


def _temporary(table: str) -> sqlite3.Connection:
    # A reader may be created in one thread and used in another.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA cache_size = -8192")  # KiB
    database.execute(table)
    return database
