"""The stores of `tests/fixtures/stores.py`, wrapped so that their errors are the program's own."""

import pytest

import db
from backend.store import Store


@pytest.fixture
def store(store: db.Store) -> Store:
    """An open, empty store of each kind."""
    return Store(store)
