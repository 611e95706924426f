"""A clock that jumps backwards: order is given by ids, never by times."""

from datetime import UTC, datetime, timedelta

import pytest

import db.column_types
from db import Store
from db.queries import claims, curator_queries, pairs, verdict_queries
from tests.db.building import add_dataset


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[timedelta]:
    """Its only entry is the offset of the clock."""
    off = [timedelta()]

    def now() -> datetime:
        return datetime.now(UTC) + off[0]

    for module in (db.column_types, verdict_queries, claims, curator_queries):
        if hasattr(module, "now"):
            monkeypatch.setattr(module, "now", now)
    return off


def test_verdicts_keep_their_order(store: Store, clock: list[timedelta]) -> None:
    dataset, ids = add_dataset(store, 3)
    for number, decision in enumerate(("drop", "correct", "unsure")):
        with store.writing() as session:
            verdict_queries.add_verdict(session, ids[0], number, decision, author="Ada")
        clock[0] -= timedelta(days=1)
    with store.reading() as session:
        acts = verdict_queries.history(session, ids[0])
        assert [act.decision for act in acts] == ["drop", "correct", "unsure"]
        assert acts[0].created_at > acts[2].created_at
        assert pairs.get_pair(session, ids[0]).decision == "unsure"
    with store.writing() as session:
        verdict_queries.undo_last(session, dataset, "Ada")
    with store.reading() as session:
        assert pairs.get_pair(session, ids[0]).decision == "correct"


def test_a_claim_from_the_future_does_not_lock_its_owner_out(
    store: Store, clock: list[timedelta]
) -> None:
    _, ids = add_dataset(store, 1)
    with store.writing() as session:
        assert claims.claim(session, ids[0], "Ada")
    clock[0] -= timedelta(hours=5)
    with store.writing() as session:
        assert claims.claim(session, ids[0], "Ada")
        assert not claims.claim(session, ids[0], "Ben")
    clock[0] += timedelta(minutes=11)  # the second claim was timed by the present clock
    with store.writing() as session:
        assert claims.claim(session, ids[0], "Ben")
