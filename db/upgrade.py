"""Opening a database: made if new, brought up to date if old, refused if newer than the program.

All migrations run in one transaction under a lock, so a program killed in the middle leaves the
database as it was, and two programs that start at once do the work once.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, exc, inspect, text
from sqlalchemy.engine import URL, make_url

from db.errors import NewerDatabase, StoreProblem
from db.models import Base
from db.session import Store, explained, make_engine

MIGRATIONS = Path(__file__).parent / "migrations"
#: Any constant will do, as long as all versions of the program use it.
_ADVISORY_LOCK = 7_238_946_120


def open_store(url: str) -> Store:
    """Open the database at `url`, creating and upgrading it as needed.

    `url` is `sqlite:///PATH` (the folder is made if missing) or `postgresql://…`. Raises
    `StoreProblem` with advice if it cannot be used, `NewerDatabase` if a newer program made it.
    """
    parsed = parse_url(url)
    address = parsed.render_as_string(hide_password=True)
    if parsed.get_backend_name() == "sqlite":
        _make_folder(Path(str(parsed.database)), address)
    engine = make_engine(parsed)
    try:
        with explained(address), engine.begin() as connection:
            found = _bring_up_to_date(connection, address)
    except BaseException:
        engine.dispose()
        raise
    return Store(engine, upgraded_from=found if found != head_revision() else None)


def parse_url(url: str) -> URL:
    """`url` with the driver we use; refuses what we do not support."""
    try:
        parsed = make_url(url)
    except exc.ArgumentError as error:
        raise StoreProblem(
            f"'{url}' is not a database URL. Write sqlite:////absolute/path.db or "
            "postgresql://user@host/database."
        ) from error
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise StoreProblem(
            f"Databases of the kind '{backend}' are not supported. Use sqlite:///… for one "
            "machine or postgresql://… for a team."
        )
    if not parsed.database or parsed.database == ":memory:":
        raise StoreProblem(
            "A database in memory would lose every verdict. Give a file: sqlite:////path/name.db."
        )
    return parsed


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration without a file. Give a connection to have commands run on it."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    if connection is not None:
        config.attributes["connection"] = connection
    return config


def head_revision() -> str:
    """The schema revision of this program."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert head is not None
    return head


def _make_folder(path: Path, address: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreProblem(
            f"The folder of the database {address} cannot be made: {error.strerror}. "
            "Give another place with --db."
        ) from error


def _bring_up_to_date(connection: Connection, address: str) -> str | None:
    """Migrate to the head; the revision found before, None if the database was empty."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    # On SQLite the transaction began IMMEDIATE: nobody else writes from here on.
    found = MigrationContext.configure(connection).get_current_revision()
    scripts = ScriptDirectory.from_config(alembic_config())
    if found == scripts.get_current_head():
        return found
    if found is not None and found not in {script.revision for script in scripts.walk_revisions()}:
        raise NewerDatabase(
            f"The database {address} was made by a newer version of TRACED Curator (schema "
            f"'{found}', this program knows up to '{scripts.get_current_head()}'). Nothing was "
            "changed. Update the program, or give another database with --db."
        )
    if found is None:
        strangers = set(Base.metadata.tables) & set(inspect(connection).get_table_names())
        if strangers:
            raise StoreProblem(
                f"The database {address} belongs to another program: it has a table "
                f"'{min(strangers)}' that TRACED Curator did not make. Give another with --db."
            )
    command.upgrade(alembic_config(connection), "head")
    return found
