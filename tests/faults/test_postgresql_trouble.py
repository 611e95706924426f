"""A PostgreSQL server that refuses, restarts or has few connections: a clear error, and nothing of
what was confirmed is lost."""

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from backend.errors import StoreError
from backend.store import Store, open_database
from db.queries import verdicts
from research.bench.generated_store import generate
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
    with store.writing() as session:
        verdicts.add_verdict(session, pair_id, 0, "correct", author="Ada")


def decided(store: Store) -> int:
    with store.reading() as session:
        return sum(1 for _ in verdicts.iterate_verdicts(session, 1))


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
    with store.reading() as session:
        held = {row.pair_id for row in verdicts.iterate_verdicts(session, 1)}
    assert set(confirmed) <= held
    assert len(confirmed) > PAIRS / 2
    store.close()
    administrator.close()


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
