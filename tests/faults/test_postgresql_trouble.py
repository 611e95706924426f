"""A PostgreSQL server that refuses, restarts or has few connections: a clear error, and nothing of
what was confirmed is lost."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from backend.errors import StoreError
from backend.jobs.scoring.trajectory_stages import TrajectoryStage
from backend.store import Store, open_database
from db.queries import trajectory_queries, verdict_queries
from research.bench.generated_store import generate
from research.scenes import demo
from tests.db.building import decided_pairs
from tests.faults import scenarios
from tests.faults.stored_scores import stored
from tests.fixtures.postgresql import Server, find_binaries, restartable_server
from tests.fixtures.sizes import Sizes
from tests.fixtures.stores import fresh_database

PAIRS = 40


@pytest.fixture
def url(postgresql_server: str) -> Iterator[str]:
    with fresh_database(postgresql_server) as url:
        store = open_database(url)
        generate(store, PAIRS)
        store.close()
        yield url


def with_option(url: str, option: str) -> str:
    """The URL of connections with a setting of the server, as in `-c statement_timeout=1`."""
    address = make_url(url).update_query_dict({"options": f"-c {option}"})
    return address.render_as_string(hide_password=False)


def decide(store: Store, pair_id: int) -> None:
    store.write(verdict_queries.add_verdict, pair_id, 0, "correct", author="Ada")


def decided(store: Store) -> int:
    return len(store.read(decided_pairs, 1))


def test_a_server_that_became_read_only_takes_no_verdict_and_says_so(url: str) -> None:
    store = open_database(url)
    decide(store, 1)
    with store.opened.engine.connect() as connection:
        name = make_url(url).database
        connection.execute(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
        connection.commit()
    store.close()  # new connections see it
    with pytest.raises(StoreError, match="primary"):
        decide(store, 2)
    assert decided(store) == 1
    store.close()


def test_a_statement_timeout_is_reported(url: str) -> None:
    store = open_database(with_option(url, "statement_timeout=3000"))
    other = open_database(url)
    with other.writing() as session:
        session.execute(text("LOCK TABLE pairs IN ACCESS EXCLUSIVE MODE"))
        with pytest.raises(StoreError, match="Raise it"):
            decide(store, 1)
    decide(store, 1)
    assert decided(store) == 1
    for opened in (store, other):
        opened.close()


def test_verdicts_survive_the_end_of_all_connections(url: str) -> None:
    """As when the server restarts: each connection ends, and new ones are accepted."""
    store, administrator, confirmed = open_database(url), open_database(url), []
    query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for pair_id in range(1, PAIRS + 1):
        if pair_id % 4 == 0:
            with administrator.reading() as session:
                session.execute(text(query))
        try:
            decide(store, pair_id)
        except StoreError:
            continue
        confirmed.append(pair_id)
    held = {row.id for row in store.read(decided_pairs, 1)}
    assert set(confirmed) <= held
    assert len(confirmed) > PAIRS / 2
    store.close()
    administrator.close()


@pytest.mark.nightly
def test_verdicts_survive_a_crash_of_the_server() -> None:
    """All of its processes are killed, three times, while curators give verdicts."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed")
    confirmed: list[int] = []
    with restartable_server(binaries, "-c fsync=on -c full_page_writes=on") as server:
        store = open_database(server.url)
        generate(store, 400)
        for first in (1, 101, 201):
            at_work = threading.Event()

            def work(start: int, at_work: threading.Event = at_work) -> None:
                for pair_id in range(start, start + 25):
                    try:
                        decide(store, pair_id)
                    except StoreError:
                        return
                    confirmed.append(pair_id)
                    if pair_id == start + 5:
                        at_work.set()

            curators = [threading.Thread(target=work, args=(first + 25 * n,)) for n in range(4)]
            for curator in curators:
                curator.start()
            assert at_work.wait(100)
            server.crash()
            for curator in curators:
                curator.join()
            server.start()
        held = {row.id for row in store.read(decided_pairs, 1)}
        store.close()
    assert set(confirmed) <= held
    assert len(confirmed) > 3


def test_five_connections_are_enough_or_the_shortage_is_named(
    url: str, postgresql_server: str
) -> None:
    administrator = open_database(url)
    with administrator.opened.engine.connect() as connection:
        connection.execute(text("CREATE ROLE few LOGIN PASSWORD 'few' CONNECTION LIMIT 5"))
        connection.execute(text("GRANT ALL ON ALL TABLES IN SCHEMA public TO few"))
        connection.execute(text("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO few"))
        connection.commit()
    store = open_database(
        make_url(url).set(username="few", password="few").render_as_string(hide_password=False)
    )
    confirmed, problems = [], []

    def work(first: int) -> None:
        for pair_id in range(first, PAIRS + 1, 10):
            try:
                decide(store, pair_id)
                confirmed.append(pair_id)
            except Exception as problem:
                problems.append(problem)

    curators = [threading.Thread(target=work, args=(n,)) for n in range(1, 11)]
    for curator in curators:
        curator.start()
    for curator in curators:
        curator.join()
    assert all(isinstance(problem, StoreError) for problem in problems), problems
    assert decided(store) == len(confirmed) >= 5
    store.close()
    with administrator.opened.engine.connect() as connection:
        connection.execute(text("DROP OWNED BY few"))
        connection.execute(text("DROP ROLE few"))
        connection.commit()
    administrator.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """A server of its own, which writes what it confirms at once."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip("no PostgreSQL is installed")
    with restartable_server(binaries) as started:
        yield started


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("when", ["between batches", "before a commit", "for a while"])
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_scoring_job_outlives_a_restart(
    server: Server,
    tmp_path: Path,
    sizes: Sizes,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
    mode: str,
) -> None:
    """The server really stops and starts again; "immediate" is like a crash."""
    demo.write(tmp_path / "pairs", 6, 0, 96, seed=8)
    workspace = scenarios.workspace(tmp_path, database=server.url)
    workspace.jobs.import_dataset(tmp_path / "pairs")
    sizes(BATCH=2, _TRY_EVERY=0.1)
    save = trajectory_queries.save_trajectories
    kept: dict[int, bytes] = {}
    stopped = threading.Event()

    def saved(*arguments: Any) -> None:
        save(*arguments)
        if kept or stopped.is_set():
            return
        if when == "before a commit":
            stopped.set()
            server.stop(mode)
            server.start()

    def saved_whole(*arguments: Any) -> None:
        save_whole(*arguments)
        if not stopped.is_set():
            kept.update(stored(workspace))
            stopped.set()
            server.stop(mode)
            if when == "between batches":
                server.start()

    monkeypatch.setattr(trajectory_queries, "save_trajectories", saved)
    save_whole = TrajectoryStage.save
    if when != "before a commit":
        monkeypatch.setattr(TrajectoryStage, "save", saved_whole)
    job = workspace.jobs.start("score", 1, suggestions=False)
    assert stopped.wait(900)
    if when == "for a while":
        assert not workspace.jobs.background.wait(3), "its end is not stored yet"
        server.start()
    assert workspace.jobs.background.wait(900)
    ended = workspace.jobs.job(job)
    assert ended.status == ("done" if when == "between batches" else "failed")
    assert len(kept) == (0 if when == "before a commit" else 2)
    if ended.status == "failed":
        assert "everything confirmed before is kept" in ended.message or "Start it" in ended.message
        assert stored(workspace) == kept
        again = workspace.jobs.retry(job)
        assert workspace.jobs.background.wait(900)
        assert workspace.jobs.job(again).status == "done"
    whole = stored(workspace)
    assert len(whole) == 6
    assert {pair: whole[pair] for pair in kept} == kept
    workspace.store.close()
