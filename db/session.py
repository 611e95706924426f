"""Connections and transactions: the only place with SQLite-specific handling.

`store.reading()` and `store.writing()` give short sessions. They differ for a reason:

* On SQLite a transaction that reads first and writes later fails at once, without waiting, if
  another connection wrote in between. Therefore `writing()` starts with BEGIN IMMEDIATE, which
  waits for the single writer lock (up to `BUSY_SECONDS`), and `reading()` refuses to write.
* `reading()` sees a consistent snapshot, on both databases.

A few functions, such as `add_verdict`, commit before they return; everything
else is committed when the `with` block ends, and rolled back when it raises.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import URL, make_url
from sqlalchemy.orm import Session

from db.errors import MissingRow, StoreProblem

#: Seconds that a writer waits for a writer of another process before it gives up.
BUSY_SECONDS = 10
#: … and for writers of its own process, which are known to finish.
WRITE_LOCK_TIMEOUT = 120

# synchronous=FULL: each commit reaches the disk before it is reported. In WAL mode NORMAL already
# survives kill -9 of the process, but a power cut may lose the last commits, and a verdict that was
# confirmed must never be lost. The cost, one flush per commit, is small: curators commit a few
# times a minute, and bulk work commits in batches.
_SQLITE_PRAGMAS = {
    "foreign_keys": "ON",
    "synchronous": "FULL",
    "temp_store": "MEMORY",
}
#: SQLite's page cache per connection in KiB, and while writing large parts of the file: updating a
#: million pairs touches many indexes.
_CACHE, _LARGE_CACHE = 16_384, 262_144


class OpenFiles:
    """SQLite's database, write-ahead log and the log's index as this process has opened them.

    If another program replaces or removes one of them, SQLite keeps writing into a file that no
    longer has a name, and everything is lost when the process ends; or, if it is the index, which
    holds the locks, both write into the log at once. Therefore, each commit is
    checked: StoreProblem is raised before it if a file is gone, and by `check` afterwards.
    """

    def __init__(self, engine: Engine) -> None:
        path = os.path.abspath(str(engine.url.database))
        self._paths = (path, f"{path}-wal", f"{path}-shm")
        self._opened: tuple[tuple[int, int] | None, ...] = ()
        self._connections = 0
        self._lock = threading.Lock()
        event.listen(engine, "connect", self._on_connect)
        event.listen(engine, "close", self._on_close)
        event.listen(engine, "commit", self.check)

    def _on_connect(self, connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # opens the log
        with self._lock:
            if not self._connections:
                self._opened = self._now()
            self._connections += 1

    def _on_close(self, _connection: sqlite3.Connection, _record: object) -> None:
        with self._lock:
            self._connections -= 1

    def _now(self) -> tuple[tuple[int, int] | None, ...]:
        return tuple(_identity(path) for path in self._paths)

    def check(self, _connection: Connection | None = None) -> None:
        """Raises StoreProblem if one of the files is not the one that was opened."""
        if not self._connections:  # the next one opens the files anew
            return
        for path, before, now in zip(self._paths, self._opened, self._now(), strict=True):
            if before != now:
                raise StoreProblem(
                    f"Nothing more can be stored: another program removed or replaced {path} while "
                    "TRACED Curator was using it. Restart TRACED Curator; what was confirmed "
                    "before is kept unless that program replaced the database."
                )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        file = os.stat(path)
    except OSError:
        return None
    return file.st_dev, file.st_ino


class Store:
    """An open database of the current schema. Safe to share between threads; get one from
    `db.upgrade.open_store`."""

    def __init__(
        self,
        engine: Engine,
        upgraded_from: str | None = None,
        files: OpenFiles | None = None,
    ) -> None:
        self.engine = engine
        self._files = files
        #: The schema revision found when opening, if the database was older; None if it was new
        #: or already current.
        self.upgraded_from = upgraded_from
        self._reader = engine.execution_options(
            traced_writes=False, **_postgresql_only(engine, postgresql_readonly=True)
        ).execution_options(**_postgresql_only(engine, isolation_level="REPEATABLE READ"))
        self._writer = engine.execution_options(traced_writes=True)
        self._large_writer = engine.execution_options(traced_writes=True, traced_large=True)
        #: SQLite has no fair queue for its writer lock: waiting connections poll, and with many of
        #: them some starve. The writers of one process queue here instead.
        self._turn = threading.Lock()

    @property
    def address(self) -> str:
        """The URL without its password, safe for messages and logs."""
        return self.engine.url.render_as_string(hide_password=True)

    @property
    def dialect(self) -> str:
        """'sqlite' or 'postgresql'."""
        return self.engine.dialect.name

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A read-only session on a consistent snapshot."""
        with connection_errors_explained(self.address), Session(self._reader) as session:
            yield session

    @contextmanager
    def writing(self, large: bool = False) -> Iterator[Session]:
        """A session that commits when the block ends. On SQLite there is one at a time and others
        wait: keep it short, compute before entering. `large`: it writes a large part of the
        database and gets a larger cache."""
        writer = self._large_writer if large else self._writer
        with connection_errors_explained(self.address), self._in_turn(), Session(writer) as session:
            if self._files is not None:
                self._files.check()
            yield session
            session.commit()
            if self._files is not None:
                self._files.check()

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        if self.dialect == "postgresql":
            yield
            return
        if not self._turn.acquire(timeout=WRITE_LOCK_TIMEOUT):
            raise StoreProblem(
                f"The database {self.address} is overloaded: others have been writing for "
                f"{WRITE_LOCK_TIMEOUT} seconds. Try again."
            )
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        """Close all connections. The store can be used again; it then reconnects."""
        self.engine.dispose()


def _postgresql_only(engine: Engine, **options: Any) -> dict[str, Any]:
    return options if engine.dialect.name == "postgresql" else {}


def make_engine(url: URL, migrates: bool = False) -> Engine:
    """An engine for SQLite (a file) or PostgreSQL (psycopg), configured as described in this
    module. `migrates`: SQLite does not enforce foreign keys, so that tables can be copied."""
    if url.get_backend_name() == "postgresql":
        try:
            return create_engine(
                url, pool_size=8, max_overflow=24, pool_pre_ping=True, hide_parameters=True
            )
        except ModuleNotFoundError as problem:
            raise StoreProblem(
                "PostgreSQL needs the extra 'postgres': pip install 'traced-curator[postgres]', or "
                "in a checkout pip install -r requirements-postgres.txt."
            ) from problem
    # Captions are parameters: no error, and so no log, holds one.
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_size=8,
        max_overflow=56,
        connect_args={"timeout": BUSY_SECONDS},
    )
    event.listen(engine, "connect", _prepare_sqlite)
    if migrates:
        event.listen(engine, "connect", _ignore_foreign_keys)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _ignore_foreign_keys(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA foreign_keys = OFF")


def _prepare_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    # The driver must never start a transaction on its own: `_begin_sqlite` chooses the kind.
    connection.isolation_level = None
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        _switch_to_wal(connection)
    for name, value in _SQLITE_PRAGMAS.items():
        connection.execute(f"PRAGMA {name} = {value}")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Once in a database's lifetime. SQLite does not wait if two processes do this at once."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    writes = options.get("traced_writes", True)
    cache = _LARGE_CACHE if options.get("traced_large") else _CACHE
    pragmas = {"query_only": "OFF" if writes else "ON", "cache_size": -cache}
    in_effect = connection.info.setdefault("traced_pragmas", {})  # while the connection is open
    for name, value in pragmas.items():
        if in_effect.get(name) != value:
            connection.exec_driver_sql(f"PRAGMA {name} = {value}")
            in_effect[name] = value
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


#: Error messages of SQLite and PostgreSQL, with advice for the user.
_CONNECTION_LOST = (
    "the server ended the connection; it stops or starts again. Try again when it is there: "
    "everything confirmed before is kept."
)
_ADVICE = {
    "database is locked": "another program keeps writing to it. Close that program, or wait.",
    "readonly database": "it is not writable. Check the permissions of the file and of its folder, "
    "or give the database another location.",
    "unable to open database file": "its folder does not exist or is not accessible. Check the "
    "database's path.",
    "database or disk is full": "the disk is full. Free some space and try again; everything "
    "confirmed before is kept.",
    "no space left on device": "the disk of the server is full.",
    "disk i/o error": "the disk reports an error. Check it before you continue.",
    "file is not a database": "the file exists but is not a database. Give another path.",
    "malformed": "the file is damaged. Restore a backup.",
    "connection refused": "there is no response from a PostgreSQL server. Start it, or check host "
    "and port.",
    "server closed the connection": _CONNECTION_LOST,
    "terminating connection": _CONNECTION_LOST,
    "connection is lost": _CONNECTION_LOST,
    "the database system is": _CONNECTION_LOST,  # starting up, shutting down, in recovery mode
    "no such file or directory": "there is no response from a PostgreSQL server. Start it, or "
    "check the folder of its socket.",
    "read-only transaction": "the server takes no changes, as a standby does. Connect to the "
    "primary server, or ask its administrator; everything confirmed before is kept.",
    "statement timeout": "the server ended a statement after its statement_timeout. Raise it for "
    "this user, or try again while the server is less busy.",
    "too many connections": "the server accepts no more connections. Close other programs, or "
    "raise the limit of this user.",
    "password authentication failed": "the server rejects this user and password.",
    "does not exist": "the server has no such database or user. Create it, or check the URL.",
}


#: SQLite's messages for a file on a read-only disk, among other causes.
_UNWRITABLE = ("readonly database", "unable to open database file")
_READ_ONLY = "its disk is read-only. Make it writable, or give the database another location."


#: PostgreSQL's numeric_value_out_of_range: a parameter that does not fit into INTEGER.
_OUT_OF_RANGE = "22003"
#: … and foreign_key_violation.
_NO_SUCH_PARENT = "23503"
_DELETED = (
    "The dataset or pair was deleted by another person or program while this was computed. Nothing "
    "of it can be stored."
)
_TOO_LARGE = "There is no such row: the number is larger than any id or version can be."


def _is_on_read_only_disk(address: str) -> bool:
    """Whether the folder of SQLite's file exists on a disk that is mounted read-only."""
    folder = Path(make_url(address).database or "").parent
    try:
        return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)
    except OSError:
        return False


@contextmanager
def connection_errors_explained(address: str) -> Iterator[None]:
    """Translate driver errors: a problem of the database as a whole becomes a StoreProblem. A
    number too large for its column, which came from a URL or an API client, becomes a MissingRow,
    and so does a row whose dataset or pair another program has deleted meanwhile.

    Programming errors (integrity, syntax) pass through unchanged.
    """
    try:
        yield
    except exc.TimeoutError as error:
        raise StoreProblem(
            f"The database {address} is overloaded: no connection became available. Try again."
        ) from error
    except OverflowError as error:
        if "SQLite INTEGER" not in str(error):
            raise
        raise MissingRow(_TOO_LARGE) from error
    except exc.DataError as error:
        if getattr(error.orig, "sqlstate", None) != _OUT_OF_RANGE:
            raise
        raise MissingRow(_TOO_LARGE) from error
    except exc.IntegrityError as error:
        sqlstate = getattr(error.orig, "sqlstate", None)
        if sqlstate != _NO_SUCH_PARENT and "FOREIGN KEY" not in str(error.orig):
            raise
        raise MissingRow(_DELETED) from error
    except exc.ProgrammingError:
        raise
    except exc.DBAPIError as error:
        message = str(error.orig).strip()
        for sign, advice in _ADVICE.items():
            if sign in message.lower():
                if sign in _UNWRITABLE and _is_on_read_only_disk(address):
                    advice = _READ_ONLY
                raise StoreProblem(
                    f"The database {address} cannot be used: {advice} ({message})"
                ) from error
        raise StoreProblem(f"The database {address} cannot be used: {message}") from error
