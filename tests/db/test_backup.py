"""Backups of a database that is in use."""

import os
import shutil
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from db import Store, open_store
from db.backup import backup, check
from db.errors import AlreadyExists, StoreProblem
from db.queries import pair_queries, verdict_acts
from tests.db.building import add_dataset, decide


def test_a_backup_contains_what_was_committed(store: Store, tmp_path: Path) -> None:
    dataset, ids = add_dataset(store, 5)
    decide(store, ids[2])
    target = backup(store, tmp_path / "copies" / "one")
    if store.dialect == "postgresql":
        listed = subprocess.run(
            [shutil.which("pg_restore") or "pg_restore", "--list", str(target)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert "verdicts" in listed.stdout
        return
    copy = open_store(f"sqlite:///{target}")
    with copy.reading() as session:
        assert pair_queries.counts(session, dataset).total == 5
        assert verdict_acts.pair_state(session, ids[2]).decision == "drop"
    copy.close()
    assert [p.name for p in target.parent.iterdir() if "part" in p.name] == []


def test_a_backup_overwrites_no_file_and_writes_through_no_link(
    sqlite_store: Store, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text("mine")
    for name in (f".copy.db.part-{os.getpid()}", ".copy.db.part"):
        (tmp_path / name).symlink_to(tmp_path / "mine")
    with pytest.raises(AlreadyExists, match="mine"):
        backup(sqlite_store, tmp_path / "mine")
    backup(sqlite_store, tmp_path / "copy.db")
    assert (tmp_path / "mine").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.glob("*.db")) == ["copy.db"]


def test_backups_during_writes_are_consistent(sqlite_store: Store, tmp_path: Path) -> None:
    dataset, ids = add_dataset(sqlite_store, 300)
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        for pair in ids:
            if stop.is_set():
                return
            decide(sqlite_store, pair, "correct")
            written.append(pair)

    writer = threading.Thread(target=write)
    writer.start()
    counted = []
    for number in range(5):
        before = len(written)
        copy = open_store(f"sqlite:///{backup(sqlite_store, tmp_path / f'{number}.db')}")
        with copy.reading() as session:
            held = pair_queries.counts(session, dataset).reviewed
            acts = session.connection().exec_driver_sql("SELECT count(*) FROM verdicts").scalar()
        copy.close()
        assert held == acts, "a verdict and its pair go together"
        assert held >= before, "what was confirmed before the copy is in it"
        counted.append(held)
    stop.set()
    writer.join()
    assert counted == sorted(counted)


def test_a_database_whose_path_has_the_signs_of_an_address_is_copied(tmp_path: Path) -> None:
    folder = tmp_path / "a#b 100%41"
    folder.mkdir()
    store = open_store(f"sqlite:///{folder}/traced.db")
    backup(store, tmp_path / "copy.db")
    store.close()
    copy = sqlite3.connect(tmp_path / "copy.db")
    assert copy.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
    copy.close()


def test_a_damaged_database_is_reported(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/x.db")
    add_dataset(store, 2000)
    assert check(store) == ""
    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    data = bytearray((tmp_path / "x.db").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 20_000] = b"\xff" * 20_000
    (tmp_path / "x.db").write_bytes(bytes(data))
    again = open_store(f"sqlite:///{tmp_path}/x.db")
    try:
        message = check(again)
    except StoreProblem as problem:
        message = str(problem)
    again.close()
    assert message


def test_the_password_is_in_no_process_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fake pg_dump records what any other user of the machine could see, and the file."""
    program = tmp_path / "bin" / "pg_dump"
    program.parent.mkdir()
    program.write_text(
        """#!/bin/sh
tr '\\0' '\\n' < /proc/$$/cmdline > "$NOTES/seen"
echo "PGPASSWORD=$PGPASSWORD" >> "$NOTES/seen"
stat -c %a "$PGPASSFILE" > "$NOTES/mode"; cp "$PGPASSFILE" "$NOTES/file"
echo "$PGPASSFILE" > "$NOTES/where"
for a in "$@"; do case "$a" in --file=*) : > "${a#--file=}";; esac; done
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("NOTES", str(tmp_path))
    for url in (
        "postgresql+psycopg://ada:s3cr:et%5C@db.example:5433/curator?sslmode=require",
        "postgresql+psycopg://ada@db.example:5433/curator?password=s3cr:et%5C&sslmode=require",
    ):
        store = Store(create_engine(url))
        (tmp_path / "copy").unlink(missing_ok=True)
        backup(store, tmp_path / "copy")
        seen = (tmp_path / "seen").read_text()
        assert "s3cr" not in seen
        assert "postgresql://ada@db.example:5433/curator?sslmode=require" in seen
        assert (tmp_path / "file").read_text() == "*:*:*:*:s3cr\\:et\\\\\n"
        assert (tmp_path / "mode").read_text().strip() == "600"
        assert not Path((tmp_path / "where").read_text().strip()).exists(), "removed afterwards"
