"""Ids that have been read, to tell when one comes again."""

import hashlib
import sqlite3


class SeenIds:
    """A set of ids whose memory does not grow with it: what does not fit lies in a temporary file,
    which SQLite keeps and removes by itself."""

    def __init__(self) -> None:
        # A reader may be made in one thread and read in another.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute("PRAGMA cache_size = -8192")  # KiB
        self._database.execute("CREATE TABLE seen (id BLOB PRIMARY KEY) WITHOUT ROWID")

    def add(self, identity: str) -> bool:
        """Remember it; whether it is new."""
        digest = hashlib.blake2b(identity.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        done = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (digest,))
        return done.rowcount == 1

    def close(self) -> None:
        self._database.close()
