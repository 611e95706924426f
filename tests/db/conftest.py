"""Stores to test with: the same tests run on SQLite and on PostgreSQL.

PostgreSQL is the server of TRACED_TEST_POSTGRESQL_URL (its user must be allowed to create
databases), else a throw-away one from installed binaries, else these tests are skipped.
"""

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, text
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


def _administrator(server: str) -> Engine:
    return create_engine(parse_url(server), isolation_level="AUTOCOMMIT")


@contextmanager
def _database(server: str, template: str = "template0") -> Iterator[str]:
    """A fresh database on the server, a copy of `template`; its URL."""
    name = f"traced_test_{os.getpid()}_{next(_numbers)}"
    engine = _administrator(server)
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield make_url(server).set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


@pytest.fixture(scope="session")
def postgresql_template(postgresql_server: str) -> Iterator[str]:
    """The name of a database that has the newest schema and nothing else."""
    with _database(postgresql_server) as url:
        open_store(url).close()
        yield str(make_url(url).database)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that has the newest schema and nothing else."""
    path = tmp_path_factory.mktemp("template") / "traced.db"
    open_store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    with _database(postgresql_server) as url:
        yield url


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store/traced.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty database of each kind, without any table."""
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def sqlite_store(tmp_path: Path, sqlite_template: Path) -> Iterator[Store]:
    (tmp_path / "store").mkdir()
    shutil.copy(sqlite_template, tmp_path / "store/traced.db")
    opened = open_store(f"sqlite:///{tmp_path}/store/traced.db")
    yield opened
    opened.close()


@pytest.fixture
def postgresql_store(postgresql_server: str, postgresql_template: str) -> Iterator[Store]:
    with _database(postgresql_server, postgresql_template) as url:
        opened = open_store(url)
        yield opened
        opened.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest) -> Store:
    """An open, empty store of each kind."""
    found: Store = request.getfixturevalue(f"{request.param}_store")
    return found
