import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import create_engine, exc, text
from sqlalchemy.exc import DBAPIError

from db import Store, open_store
from db.errors import MissingRow, StoreProblem
from db.queries import dataset_queries, pair_queries
from db.session import connection_errors_explained
from tests.db.building import add_dataset
from tests.fixtures.sizes import Sizes


def test_sqlite_is_configured_for_durability(sqlite_store: Store) -> None:
    wanted = {
        "journal_mode": "wal", "foreign_keys": 1, "synchronous": 2, "busy_timeout": 10_000,
    }  # fmt: skip
    with sqlite_store.engine.connect() as connection:
        for name, value in wanted.items():
            assert connection.exec_driver_sql(f"PRAGMA {name}").scalar() == value, name


def test_a_reading_session_cannot_write(store: Store) -> None:
    with pytest.raises((StoreProblem, DBAPIError)), store.reading() as session:
        dataset_queries.create_dataset(session, "photos", "", "")
    with store.writing() as session:  # and the connection it used can write again
        dataset_queries.create_dataset(session, "photos", "", "")
    with store.reading() as session:
        assert len(dataset_queries.list_datasets(session)) == 1


def test_a_reading_session_sees_one_snapshot(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 3)
    with store.reading() as reader:
        assert pair_queries.counts(reader, dataset_id).total == 3
        with store.writing() as writer:
            pair_queries.add_pairs(
                writer, dataset_id, [pair_queries.NewPair("late", "late.jpg", "late")]
            )
        assert pair_queries.counts(reader, dataset_id).total == 3
    with store.reading() as reader:
        assert pair_queries.counts(reader, dataset_id).total == 4


def test_an_exception_rolls_the_transaction_back(store: Store) -> None:
    def write_and_stumble() -> None:
        with store.writing() as session:
            dataset_queries.create_dataset(session, "photos", "", "")
            raise KeyError("stumbled")

    with pytest.raises(KeyError):
        write_and_stumble()
    with store.reading() as session:
        assert dataset_queries.list_datasets(session) == []


def test_foreign_keys_are_enforced(store: Store) -> None:
    with pytest.raises(MissingRow, match="was deleted"), store.writing() as session:
        pair_queries.add_pairs(session, 12345, [pair_queries.NewPair("a", "a.jpg", "a")])


def test_a_database_locked_by_another_program_is_reported(
    sqlite_url: str, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(BUSY_SECONDS=0.1)
    store = open_store(sqlite_url)
    other = sqlite3.connect(tmp_path / "store/traced.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreProblem, match="another program keeps writing"), store.writing() as s:
        dataset_queries.create_dataset(s, "photos", "", "")
    with store.reading() as session:  # readers are not blocked
        assert dataset_queries.list_datasets(session) == []
    other.execute("ROLLBACK")
    other.close()
    with store.writing() as session:
        dataset_queries.create_dataset(session, "photos", "", "")
    store.close()


def test_a_writer_that_waits_too_long_is_told(sqlite_store: Store, sizes: Sizes) -> None:
    sizes(WRITE_LOCK_TIMEOUT=0.05)
    is_inside, is_done = threading.Event(), threading.Event()

    def hold() -> None:
        with sqlite_store.writing() as session:
            dataset_queries.create_dataset(session, "first", "", "")
            is_inside.set()
            is_done.wait(200)

    holder = threading.Thread(target=hold)
    holder.start()
    assert is_inside.wait(200)
    with pytest.raises(StoreProblem), sqlite_store.writing() as session:
        dataset_queries.create_dataset(session, "second", "", "")
    is_done.set()
    holder.join()
    with sqlite_store.writing() as session:
        dataset_queries.create_dataset(session, "second", "", "")
        assert len(dataset_queries.list_datasets(session)) == 2


def test_a_full_disk_is_reported_and_no_committed_row_is_lost(sqlite_store: Store) -> None:
    dataset_id, _ = add_dataset(sqlite_store, 50)

    def add_too_much() -> None:
        with sqlite_store.writing() as session:
            pages = session.execute(text("PRAGMA page_count")).scalar_one()
            session.execute(text(f"PRAGMA max_page_count = {pages + 2}"))
            rows = [pair_queries.NewPair(f"n{i}", f"{i}.jpg", "long " * 100) for i in range(500)]
            pair_queries.add_pairs(session, dataset_id, rows)

    with pytest.raises(StoreProblem, match="disk is full"):
        add_too_much()
    with sqlite_store.reading() as session:
        assert pair_queries.counts(session, dataset_id).total == 50


def test_a_url_that_cannot_work_is_refused_without_its_password() -> None:
    for url, message in (
        ("nonsense", "is not a database URL"),
        ("postgresql://ada:secret@host:port/x", r"'postgresql://ada:\*\*\*@host:port/x' is not a"),
        ("postgresql://ada:secret@[::1/x", r"ada:\*\*\*@\[::1/x' is not a database URL"),
        ("mysql://host/name", "'mysql' are not supported"),
        ("sqlite://", "in memory would lose"),
        ("sqlite:///:memory:", "in memory would lose"),
        ("postgresql://ada:secret@127.0.0.1:1/traced", "no response from a PostgreSQL server"),
    ):
        with pytest.raises(StoreProblem, match=message) as caught:
            open_store(url)
        assert "secret" not in str(caught.value)


def test_a_file_that_is_in_the_way_is_reported_and_kept(tmp_path: Path) -> None:
    path, text = tmp_path / "notes.db", "no database, but long enough to be looked at\n" * 50
    path.write_text(text)
    with pytest.raises(StoreProblem, match="is not a database"):
        open_store(f"sqlite:///{path}")
    with pytest.raises(StoreProblem, match="folder"):
        open_store(f"sqlite:///{path}/traced.db")
    assert path.read_text() == text


def test_a_missing_postgresql_database_is_reported(postgresql_server: str) -> None:
    engine = create_engine(postgresql_server.replace("postgresql://", "postgresql+psycopg://"))
    url = engine.url.set(database="no_such_database").render_as_string(hide_password=False)
    with pytest.raises(StoreProblem, match="no such database"):
        open_store(url)


def test_a_missing_folder_is_not_reported_as_read_only(tmp_path: Path) -> None:
    error = exc.OperationalError("", None, sqlite3.OperationalError("unable to open database file"))
    with (
        pytest.raises(StoreProblem, match="its folder does not exist"),
        connection_errors_explained(f"sqlite:///{tmp_path}/gone/traced.db"),
    ):
        raise error


def test_an_id_that_no_column_can_hold_is_a_missing_row(store: Store) -> None:
    for number in (2**31, 2**40, 2**63, 2**70):
        fits = store.dialect == "sqlite" and number < 2**63
        expected = "There is no pair" if fits else "There is no such row: the number is larger"
        with pytest.raises(MissingRow, match=expected), store.reading() as session:
            dataset_queries.pair_and_dataset(session, number)
