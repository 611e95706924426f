"""Open a database: create it if new, upgrade it if old, refuse it if newer than the program.

All migrations run in one transaction under a lock, so a process killed midway leaves the
database unchanged, and of two processes that start at once only one migrates.
"""

import os
import re
import sqlite3
import threading
import warnings
from functools import cache
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, exc, inspect, text
from sqlalchemy.engine import URL, make_url

from db.errors import NewerDatabase, StoreProblem
from db.models import Base
from db.session import OpenFiles, Store, connection_errors_explained, make_engine

MIGRATIONS = Path(__file__).parent / "migrations"
#: Any constant will do, as long as all versions of the program use it.
_ADVISORY_LOCK = 7_238_946_120
#: The last commit that upgrades databases from revisions before our oldest.
OLDER_PROGRAM = "249e9682"
#: The oldest SQLite library that our migrations run on: ALTER TABLE … DROP COLUMN came with it.
OLDEST_SQLITE = (3, 35)
#: Alembic's `op` and `context` belong to the process: of two threads that migrate different
#: databases, one would run its statements on the other's connection.
_one_thread = threading.Lock()
# Migrations on SQLite copy tables that refer to `pairs`, whose own indexes on expressions stay.
warnings.filterwarnings(
    "ignore", "Skipped unsupported reflection of expression-based index", exc.SAWarning
)


def open_store(url: str) -> Store:
    """Open the database at `url`, creating and upgrading it as needed.

    `url` is `sqlite:///PATH` (the folder is created if missing) or `postgresql://…`. Raises
    `StoreProblem` with advice if it cannot be used or is too old, `NewerDatabase` if a newer
    program made it.
    """
    store_url = parse_url(url)
    address = store_url.render_as_string(hide_password=True)
    if store_url.get_backend_name() == "sqlite":
        _check_sqlite()
        _make_folder(Path(str(store_url.database)), address)
    migrator = make_engine(store_url, migrates=True)
    try:
        with connection_errors_explained(address), migrator.begin() as connection:
            revision = _bring_up_to_date(connection, address)
    finally:
        migrator.dispose()
    engine = make_engine(store_url)
    files = OpenFiles(engine) if engine.dialect.name == "sqlite" else None
    return Store(engine, revision if revision != head_revision() else None, files)


def parse_url(url: str) -> URL:
    """`url` with the driver we use; refuses unsupported databases."""
    try:
        store_url = make_url(url)
    except (exc.ArgumentError, ValueError) as error:  # for example, a port that is not a number
        hidden_url = re.sub(r":[^:@/]*@", ":***@", url)
        raise StoreProblem(
            f"'{hidden_url}' is not a database URL. Write sqlite:////absolute/path.db or "
            "postgresql://user@host/database."
        ) from error
    backend = store_url.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return store_url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StoreProblem(
            f"Databases of type '{backend}' are not supported. Use sqlite:///… for one machine or "
            "postgresql://… for a team."
        )
    if not store_url.database or store_url.database == ":memory:":
        raise StoreProblem(
            "A database in memory would lose every verdict. Give a file: sqlite:////path/name.db."
        )
    return store_url


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration without a file. Give a connection to have commands run on it."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def head_revision() -> str:
    """The schema revision of this program."""
    return _newest_in(MIGRATIONS)


@cache
def _newest_in(folder: Path) -> str:
    """The newest migration in `folder`, for which Alembic runs all of them."""
    newest = ScriptDirectory(str(folder)).get_current_head()
    assert newest is not None
    return newest


def _check_sqlite() -> None:
    """The library is that of Python, so that a database may have been made by a newer one."""
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreProblem(
            f"The SQLite library of this Python is {sqlite3.sqlite_version}; TRACED Curator needs "
            f"{oldest} or newer. Nothing was changed. Use a Python with a newer library, or a "
            "PostgreSQL database.",
            terminal="A Python by uv or conda brings its own SQLite library.",
        )


def _make_folder(path: Path, address: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreProblem(
            f"The folder of the database {address} cannot be created: {error.strerror}. Choose "
            "another location for it."
        ) from error
    if not path.exists() and not os.access(path.parent, os.W_OK | os.X_OK):
        # SQLite only says that it cannot open the file.
        raise StoreProblem(
            f"The database {address} cannot be created: its folder is not writable. The disk may "
            "be read-only. Choose another location for it."
        )


def _bring_up_to_date(connection: Connection, address: str) -> str | None:
    """Migrate to the head; the revision found before, None if the database was empty."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    # On SQLite the transaction began IMMEDIATE: no one else writes from here on.
    revision = MigrationContext.configure(connection).get_current_revision()
    if revision == head_revision():
        return revision
    scripts = ScriptDirectory.from_config(alembic_config())
    revisions = [script.revision for script in scripts.walk_revisions()]
    if revision is not None and revision < revisions[-1]:
        raise StoreProblem(
            f"The database {address} is older than this program can upgrade (schema '{revision}', "
            f"at least '{revisions[-1]}'). Nothing was changed. Open it once with the program of "
            f"commit {OLDER_PROGRAM}, then with this one.",
            terminal=f"In a checkout: git checkout {OLDER_PROGRAM}; python app.py datasets list "
            "with the same --db; then the newest program again.",
        )
    if revision is not None and revision not in revisions:
        raise NewerDatabase(
            f"The database {address} was created by a newer version of TRACED Curator (schema "
            f"'{revision}', this program supports up to '{head_revision()}'). Nothing was "
            "changed. Update the program, or give another database."
        )
    if revision is None:
        foreign_tables = set(Base.metadata.tables) & set(inspect(connection).get_table_names())
        if foreign_tables:
            raise StoreProblem(
                f"The database {address} belongs to another program: it has a table "
                f"'{min(foreign_tables)}' that TRACED Curator did not create. Give another "
                "one."
            )
    with _one_thread:
        command.upgrade(alembic_config(connection), "head")
    return revision
