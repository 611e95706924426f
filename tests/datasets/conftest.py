"""The stores of `tests/fixtures/stores.py` as readers get them: their errors are ours."""

import pytest

import db
from backend.store import Store


@pytest.fixture
def store(store: db.Store) -> Store:
    """An open, empty store of each kind."""
    return Store(store)
