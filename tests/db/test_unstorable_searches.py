"""Text that a database cannot search for is refused with a clear message, on either database."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from db import Store
from db.errors import MissingRow, UnstorableText
from db.queries import curator_queries, pair_queue, verdict_queries
from db.queries.pair_queue import QueueFilter
from tests.db.building import add_dataset


def test_nul_and_lone_surrogates_in_a_search_are_refused(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 3)
    for field, bad in product(("text", "external_id"), ("a\x00b", "\x00", "a dog \ud800")):
        wanted: dict[str, Any] = {field: bad}
        filter = replace(QueueFilter(dataset_id), **wanted)
        refused = pytest.raises(UnstorableText, match="to search for holds")
        with store.reading() as session, refused:
            pair_queue.count(session, filter)


@pytest.mark.parametrize("bad", ["a\x00b", "a dog \ud800"])
def test_nul_and_lone_surrogates_in_a_correction_are_refused(store: Store, bad: str) -> None:
    _, ids = add_dataset(store, 1)
    with store.writing() as session:
        with pytest.raises(UnstorableText, match=r"corrected caption holds"):
            verdict_queries.add_verdict(session, ids[0], 0, "correction", bad, author="Ada")
        assert verdict_queries.history(session, ids[0]) == []


@pytest.mark.parametrize("bad", ["a\x00b", "Ada \ud800"])
def test_no_account_has_an_unstorable_name(store: Store, bad: str) -> None:
    """Anyone can send a name at the login."""
    with store.reading() as session, pytest.raises(MissingRow, match="no account"):
        curator_queries.get_curator(session, bad)
