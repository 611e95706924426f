"""A clock that jumps backwards: order is given by ids, never by times."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from db import Store
from db.models import Hold
from db.queries import (
    hold_queries,
    undo_queries,
    verdict_acts,
    verdict_queries,
    verdict_writing,
)
from tests.db.building import add_dataset, decide, decisions, undo


def test_verdicts_keep_their_order(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, (pair_id,) = add_dataset(store, 1)
    for days, decision in enumerate(("drop", "correct", "unsure")):
        moment = datetime.now(UTC) - timedelta(days=days)
        for module in (verdict_queries, verdict_writing, undo_queries):
            monkeypatch.setattr(module, "now", lambda moment=moment: moment)
        decide(store, pair_id, decision)
    with store.reading() as session:
        acts = verdict_acts.history(session, pair_id)
    assert [act.decision for act in acts] == ["drop", "correct", "unsure"]
    assert acts[0].created_at > acts[2].created_at
    assert decisions(store, [pair_id]) == ["unsure"]
    undone = undo(store, dataset)
    assert undone is not None
    assert undone.created_at == acts[2].created_at
    assert decisions(store, [pair_id]) == ["correct"]


def test_a_hold_from_the_future_does_not_lock_its_owner_out(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)

    def pass_time(hours: float) -> None:
        with store.writing() as session:
            until = session.query(Hold).one().expires_at - timedelta(hours=hours)
            session.execute(update(Hold).values(expires_at=until))

    with store.writing() as session:
        assert hold_queries.hold(session, pair_id, "Ada")
    pass_time(-5)  # the clock was set back since
    with store.writing() as session:
        assert hold_queries.hold(session, pair_id, "Ada")
        assert not hold_queries.hold(session, pair_id, "Ben")
    pass_time(11 / 60)  # the second hold was timed by the present clock
    with store.writing() as session:
        assert hold_queries.hold(session, pair_id, "Ben")
