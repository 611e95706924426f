"""A set and a mapping whose memory does not grow with what they hold: what does not fit lies in a
temporary file, which SQLite keeps and removes by itself."""

import hashlib
import json
import sqlite3
from typing import Any

from backend.datasets.cells import Unusable

#: How a cell that could not be read is written down.
_UNUSABLE = "\0unusable"


class SeenIds:
    """Ids that have been read, to tell when one comes again."""

    def __init__(self) -> None:
        self._database = _temporary("CREATE TABLE seen (id BLOB PRIMARY KEY) WITHOUT ROWID")

    def add(self, identity: str) -> bool:
        """Remember it; whether it is new."""
        digest = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        done = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (digest,))
        return done.rowcount == 1

    def close(self) -> None:
        self._database.close()


class Names:
    """JSON values by JSON values, such as the names of images by their ids. 1 is not "1"."""

    def __init__(self) -> None:
        self._database = _temporary(
            "CREATE TABLE names (id TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID"
        )

    def __setitem__(self, identity: Any, name: Any) -> None:
        self._database.execute(
            "INSERT OR REPLACE INTO names VALUES (?, ?)", (_written(identity), _written(name))
        )

    def __getitem__(self, identity: Any) -> Any:
        """Raises KeyError if there is none."""
        row = self._database.execute(
            "SELECT name FROM names WHERE id = ?", (_written(identity),)
        ).fetchone()
        if row is None:
            raise KeyError(identity)
        return json.loads(row[0], object_hook=_unusable)

    def close(self) -> None:
        self._database.close()


def _written(value: Any) -> str:
    """As JSON; a cell that could not be read stays one."""
    return json.dumps(value, default=lambda cell: {_UNUSABLE: cell.reason})


def _unusable(value: dict[str, Any]) -> Any:
    return Unusable(value[_UNUSABLE]) if value.keys() == {_UNUSABLE} else value


def _temporary(table: str) -> sqlite3.Connection:
    # A reader may be made in one thread and read in another.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("PRAGMA cache_size = -8192")  # KiB
    database.execute(table)
    return database
