"""What no database can look for is refused in words, on either database."""

from dataclasses import replace
from typing import Any

import pytest

from db import Store
from db.errors import MissingRow, UnstorableText
from db.queries import curators, queue, verdicts
from db.queries.queue import QueueFilter
from tests.db.building import add_dataset


@pytest.mark.parametrize("bad", ["a\x00b", "\x00", "a dog \ud800"])
@pytest.mark.parametrize("field", ["text", "external_id"])
def test_nul_and_half_characters_in_a_search(store: Store, bad: str, field: str) -> None:
    dataset_id, _ = add_dataset(store, 3)
    wanted: dict[str, Any] = {field: bad}
    with store.reading() as session, pytest.raises(UnstorableText, match="to search for holds"):
        queue.count(session, replace(QueueFilter(dataset_id), **wanted))


@pytest.mark.parametrize("bad", ["a\x00b", "a dog \ud800"])
def test_nul_and_half_characters_in_a_correction(store: Store, bad: str) -> None:
    _, ids = add_dataset(store, 1)
    with store.writing() as session:
        with pytest.raises(UnstorableText, match=r"corrected caption holds"):
            verdicts.add_verdict(session, ids[0], 0, "correction", bad, author="Ada")
        assert verdicts.history(session, ids[0]) == []


@pytest.mark.parametrize("bad", ["a\x00b", "Ada \ud800"])
def test_nobody_is_named_what_cannot_be_stored(store: Store, bad: str) -> None:
    """Names come from strangers, at the login."""
    with store.reading() as session, pytest.raises(MissingRow, match="no account"):
        curators.get_curator(session, bad)
