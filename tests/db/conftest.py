"""Stores to test with: the same tests run on SQLite and on PostgreSQL.

PostgreSQL is the server of TRACED_TEST_POSTGRESQL_URL (its user must be allowed to create
databases), else a throw-away one from installed binaries, else these tests are skipped.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from db import Store, open_store
from db.upgrade import parse_url
from tests.db.postgresql import find_binaries, temporary_server

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    given = os.environ.get("TRACED_TEST_POSTGRESQL_URL")
    if given:
        yield given
        return
    binaries = find_binaries()
    if binaries is None:
        pytest.skip(
            "no PostgreSQL: install Debian's package postgresql or set TRACED_TEST_POSTGRESQL_URL"
        )
    with temporary_server(binaries) as url:
        yield url


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """A fresh, empty database."""
    name = f"traced_test_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(parse_url(postgresql_server), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield make_url(postgresql_server).set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store/traced.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """An open store of each kind."""
    opened = open_store(url)
    yield opened
    opened.close()


@pytest.fixture
def sqlite_store(sqlite_url: str) -> Iterator[Store]:
    opened = open_store(sqlite_url)
    yield opened
    opened.close()
