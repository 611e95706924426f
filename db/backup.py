"""A consistent copy of the database while others keep using it."""

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from db.errors import AlreadyExists, StoreProblem
from db.session import Store

#: Pages per step, so that writers can work in between.
_PAGES = 1000


def backup(store: Store, target: Path) -> Path:
    """Write a copy to `target`, which must not exist yet; atomic.

    SQLite: a database file, checked, by SQLite's own online backup. PostgreSQL: an archive by
    `pg_dump`, for `pg_restore`. Raises AlreadyExists or StoreProblem, saying what to do.
    """
    if target.exists():
        raise AlreadyExists(
            f"{target} exists already; nothing was written. Give the name of a new file."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        # In a new folder of our own, so that no link waits under the name that is written.
        prefix = f".{target.name}.part-"
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=prefix) as folder:
            part = Path(folder) / "copy"
            if store.dialect == "sqlite":
                _copy_sqlite(Path(str(store.engine.url.database)), part)
            else:
                _dump_postgresql(store, part)
            os.replace(part, target)
    except (OSError, sqlite3.Error) as problem:
        raise StoreProblem(f"{target} could not be written: {problem}.") from problem
    return target


def _copy_sqlite(source: Path, part: Path) -> None:
    reading = sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=10)
    writing = sqlite3.connect(part)
    try:
        reading.backup(writing, pages=_PAGES)
        result = writing.execute("PRAGMA integrity_check").fetchone()[0]
        if result != "ok":
            raise StoreProblem(
                f"The copy is damaged ({result}), and so may be the database itself."
            )
    finally:
        writing.close()
        reading.close()
    with part.open("rb+") as file:
        os.fsync(file.fileno())


def _dump_postgresql(store: Store, part: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise StoreProblem("pg_dump is not installed. Install PostgreSQL's client programs.")
    url = store.engine.url.set(drivername="postgresql")
    password = url.password or url.query.get("password")
    plain = url._replace(password=None).difference_update_query(["password"])
    with _password_file(str(password) if password else None) as environment:
        process = subprocess.run(
            [program, "--format=custom", f"--file={part}", "--no-password", "--dbname",
             plain.render_as_string(hide_password=False)],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
    if process.returncode != 0:
        lines = process.stderr.strip().splitlines()
        raise StoreProblem(f"pg_dump failed: {lines[-1] if lines else process.returncode}.")


@contextmanager
def _password_file(password: str | None) -> Iterator[dict[str, str]]:
    """An environment in which PostgreSQL's programs find the password in a file that nobody else
    may read: arguments and environments of processes can be seen by others on the machine."""
    if password is None:
        yield dict(os.environ)
        return
    with tempfile.TemporaryDirectory(prefix="traced-") as folder:  # mode 700
        file = Path(folder) / "pgpass"
        file.touch(mode=0o600)
        escaped_password = password.replace("\\", "\\\\").replace(":", "\\:")
        file.write_text(f"*:*:*:*:{escaped_password}\n", encoding="utf-8")
        yield {**os.environ, "PGPASSFILE": str(file)}


def check(store: Store) -> str:
    """'' if the database is sound, else the database's own error messages."""
    if store.dialect != "sqlite":
        with store.reading() as session:
            session.connection().exec_driver_sql("SELECT 1")
        return ""
    with store.reading() as session:
        connection = session.connection()
        problems = [row[0] for row in connection.exec_driver_sql("PRAGMA quick_check(3)")]
        orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(3)
    if problems != ["ok"]:
        return "; ".join(problems)
    return f"rows without their parent: {orphans}" if orphans else ""
