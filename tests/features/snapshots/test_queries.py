"""Snapshots: what they refer to, and acts that bring one back."""

import pytest

from backend.features.snapshots import queries as snapshots
from db import Store
from db.authors import RESTORE
from db.errors import AlreadyExists, MissingRow
from db.queries import dataset_queries, edit_queries, undo_queries
from db.queries import opinion_queries as opinions
from db.queries.edit_queries import Rewrite
from db.queries.pair_queries import NewPair
from tests.db.building import add_dataset, add_pairs, decide, decisions, redo, rows_of, undo


def take(store: Store, dataset: int, name: str = "first") -> dict[int, int]:
    """Versions by pair."""
    with store.writing() as session:
        snapshot = snapshots.take(session, dataset, name, "Ada")
        states = snapshots.states_after(session, dataset, snapshot.id, 0, 100)
    return {state.id: state.standing_version for state in states}


def restore(store: Store, versions: dict[int, int], author: str = "Ada") -> tuple[int, ...]:
    with store.writing() as session:
        return snapshots.restore(session, versions, author=author, batch="b").written


def test_verdicts_of_a_snapshot_are_in_effect_again_and_undone_at_once(store: Store) -> None:
    dataset, (right, wrong, new, same) = add_dataset(store, 4)
    decide(store, right, "correct", "Bea")
    decide(store, wrong, "correction", "Bea", caption="a better one", note="why")
    decide(store, same, "drop")
    versions = take(store, dataset)
    decide(store, right, "drop", "Cem")
    undo(store, dataset, "Bea")
    decide(store, wrong, "unsure", "Cem")
    decide(store, new, "correct", "Cem")
    later = rows_of(store, [right, wrong, new, same])
    assert set(restore(store, versions)) == {right, wrong, new}
    rows = rows_of(store, [right, wrong, new, same])
    assert [row.decision for row in rows] == ["correct", "correction", None, "drop"]
    assert [row.decided_by for row in rows] == ["Bea", "Bea", None, "Ada"], "who decided stays"
    assert (rows[1].corrected_caption, rows[1].note) == ("a better one", "why")
    assert restore(store, versions) == (), "once is enough"
    act = undo(store, dataset, only=RESTORE)
    assert act is not None
    assert act.together == 3
    again = rows_of(store, [right, wrong, new, same])
    assert [(r.decision, r.decided_by, r.note) for r in again] == [
        (r.decision, r.decided_by, r.note) for r in later
    ]
    redo(store, dataset)
    assert decisions(store, [right, wrong, new, same]) == ["correct", "correction", None, "drop"]


def test_nobody_s_opinion_is_changed(store: Store) -> None:
    dataset, (pair,) = add_dataset(store, 1)
    versions = take(store, dataset)
    decide(store, pair, "drop", "Bea")
    restore(store, versions)
    with store.reading() as session:
        (row,) = opinions.of_pair(session, pair)
    assert (row.author, row.decision) == ("Bea", "drop")


def test_edits_stay_below_verdicts_as_they_were(store: Store) -> None:
    """An edited text is found below a verdict without a text, also below a restored one."""
    dataset, (before, after) = add_dataset(store, 2)

    def edit(pair: int, version: int) -> None:
        with store.writing() as session:
            edit_queries.rewrite(session, [Rewrite(pair, version, "edited")], author="Ada")

    edit(before, 0)
    decide(store, before, "unsure")
    versions = take(store, dataset)
    edit(after, 0)
    decide(store, after, "unsure")
    decide(store, before, "correct")
    restore(store, versions)
    with store.reading() as session:
        texts = edit_queries.edited_texts(session, [before, after])
    assert texts == {before: "edited"}


def test_a_verdict_on_a_picture_that_was_replaced_does_not_come_back(store: Store) -> None:
    dataset, (pair,) = add_dataset(store, 1)
    decide(store, pair, "drop")
    versions = take(store, dataset)
    with store.writing() as session:
        undo_queries.reopen(session, [pair])
    assert restore(store, versions) == ()
    assert decisions(store, [pair]) == [None]


def test_a_verdict_that_was_undone_does_not_come_back_on_another_picture(store: Store) -> None:
    dataset, (restored, redone) = add_dataset(store, 2)
    decide(store, restored, "correct")
    versions = take(store, dataset)
    undo(store, dataset)
    decide(store, redone, "correct")
    undo(store, dataset)
    with store.writing() as session:
        undo_queries.reopen(session, [restored, redone])
        session.commit()
    assert restore(store, versions) == ()
    assert redo(store, dataset) is None
    assert decisions(store, [restored, redone]) == [None, None]


def test_a_name_is_taken_once_and_free_again_once_forgotten(store: Store) -> None:
    dataset, _ = add_dataset(store, 2)
    other, _ = add_pairs(store, "others", [NewPair("1", "1.png", "A dog.")])
    take(store, dataset)
    take(store, other)
    with pytest.raises(AlreadyExists):
        take(store, dataset)
    with store.writing() as session:
        assert [row.pairs for row in snapshots.list_snapshots(session, dataset)] == [2]
        snapshots.forget(session, snapshots.find(session, dataset, "first").id)
        with pytest.raises(MissingRow):
            snapshots.find(session, dataset, "first")
    take(store, dataset)
    with store.writing() as session:
        dataset_queries.delete_dataset(session, dataset)
        assert snapshots.find(session, other, "first").pairs == 1
