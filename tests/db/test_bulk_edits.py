"""A bulk edit is one action: no verdict changes its meaning, and one undo reverts the edit."""

import pytest

from db import Store
from db.authors import EDIT, edit_author
from db.errors import VersionConflict
from db.queries import (
    edit_queries,
    opinion_queries,
    pair_queries,
    plot_queries,
    verdict_acts,
    verdict_queries,
)
from db.queries.edit_queries import Rewrite
from db.queries.verdict_writing import BatchOutcome
from tests.db.building import add_dataset, decide, decisions, redo, rows_of, undo

HOSTILE = "a 50% <b>犬</b> \\ ' photo"


def rewrite(store: Store, *edits: tuple[int, int, str]) -> BatchOutcome:
    """Bo edits the pairs: (pair, version, text)."""
    with store.writing() as session:
        return edit_queries.rewrite(session, [Rewrite(*edit) for edit in edits], author="Bo")


@pytest.fixture
def edited(store: Store) -> tuple[int, list[int]]:
    """Pairs: undecided, correct, corrected, dropped, unsure; then all are edited by Bo."""
    dataset, ids = add_dataset(store, 5)
    decide(store, ids[1], "correct", note="sure")
    decide(store, ids[2], "correction", caption="a cat")
    decide(store, ids[3], "drop")
    decide(store, ids[4], "unsure")
    done = rewrite(store, *((i, min(n, 1), f"{n} {HOSTILE}") for n, i in enumerate(ids)))
    assert (done.written, done.passed_over) == (tuple(ids[:3]), tuple(ids[3:]))
    return dataset, ids


def test_an_edit_is_no_verdict_on_the_picture(store: Store, edited: tuple[int, list[int]]) -> None:
    dataset, ids = edited
    assert [(p.judgement, p.corrected_caption, p.decided_by) for p in rows_of(store, ids)] == [
        (None, f"0 {HOSTILE}", None),
        ("enriched", f"1 {HOSTILE}", "Ada"),
        ("correction", f"2 {HOSTILE}", "Ada"),
        ("drop", None, "Ada"),
        ("unsure", None, "Ada"),
    ]
    assert rows_of(store, ids)[1].note == "sure"
    with store.reading() as session:
        counted = pair_queries.counts(session, dataset)
        assert (counted.reviewed, counted.errors_found) == (4, 2)
        assert {o.author for i in ids for o in opinion_queries.of_pair(session, i)} == {"Ada"}
        judged = {verdict for *_, verdict in plot_queries.decided_points(session, dataset)}
        assert judged == {"enriched", "correction", "drop", "unsure"}
        (act,) = verdict_acts.history(session, ids[0])
    assert (act.author, act.decision) == (edit_author("Bo"), None)


def test_an_accepted_edit_may_be_sent_twice(store: Store, edited: tuple[int, list[int]]) -> None:
    """The response to the first request may be lost on the way to the page."""
    pair = edited[1][0]
    first = decide(store, pair, "correct", version=1)
    assert decide(store, pair, "correct", version=1) == first
    assert first.decision == "correction"
    for decision, author in (("drop", "Ada"), ("correct", "Ben")):
        with pytest.raises(VersionConflict):
            decide(store, pair, decision, author, version=1)


def test_a_verdict_on_the_caption_before_an_edit_is_told_of_the_edit(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    dataset, ids = edited
    with pytest.raises(VersionConflict, match=r"^Its caption was edited\. Look"):
        decide(store, ids[0], "correct", version=0)
    undo(store, dataset, "Bo")
    with pytest.raises(VersionConflict, match=r"^It is undecided now\. Look"):
        decide(store, ids[0], "correct", version=0)


def test_undo_reverts_a_whole_edit_and_redo_restores_it(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    dataset, ids = edited

    def state() -> list[tuple[object, ...]]:
        return [
            (p.decision, p.corrected_caption, p.enriches, p.decided_by, p.note)
            for p in rows_of(store, ids)
        ]

    before = state()
    assert undo(store, dataset, "Eve") is None
    undone = undo(store, dataset, "Bo")
    assert undone is not None
    assert undone.together == 3
    assert [of_pair[:4] for of_pair in state()] == [
        (None, None, False, None), ("correct", None, False, "Ada"),
        ("correction", "a cat", False, "Ada"), ("drop", None, False, "Ada"),
        ("unsure", None, False, "Ada"),
    ]  # fmt: skip
    with store.reading() as session:
        assert edit_queries.edited_texts(session, ids) == {}
    redone = redo(store, dataset, "Bo")
    assert redone is not None
    assert (redone.together, state()) == (3, before)


def test_an_edit_of_an_edit_keeps_the_decider(store: Store, edited: tuple[int, list[int]]) -> None:
    dataset, ids = edited
    rewrite(store, (ids[1], 2, "second"))
    undo(store, dataset, "Bo")
    (pair,) = rows_of(store, ids[1:2])
    assert (pair.corrected_caption, pair.decided_by) == (f"1 {HOSTILE}", "Ada")
    decide(store, ids[1], "drop", "Bo")
    # A later verdict on top of the edit stays; the rest of the edit is undone.
    assert undo(store, dataset, "Bo", only=EDIT) is not None
    assert decisions(store, ids) == [None, "drop", "correction", "drop", "unsure"]
    undo(store, dataset, "Bo")
    (pair,) = rows_of(store, ids[1:2])
    assert (pair.judgement, pair.decided_by) == ("enriched", "Ada")


def test_an_edit_back_to_the_original_caption_removes_the_edit(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    _, ids = edited
    done = rewrite(store, *((p.id, p.verdict_version, p.caption) for p in rows_of(store, ids)))
    assert done.written == tuple(ids[:2])  # a caption called wrong is not restored
    now = rows_of(store, ids[:2])
    assert [(p.decision, p.corrected_caption) for p in now] == [(None, None), ("correct", None)]


@pytest.mark.parametrize("decision", ["unsure", "abstract", "drop"])
def test_a_verdict_without_a_text_does_not_take_the_edit_back(
    store: Store, edited: tuple[int, list[int]], decision: str
) -> None:
    _, ids = edited
    for pair_id in ids[:3]:
        decide(store, pair_id, decision)
    with store.reading() as session:
        # An edited correction goes with the correction.
        texts = {ids[0]: f"0 {HOSTILE}", ids[1]: f"1 {HOSTILE}"}
        assert edit_queries.edited_texts(session, ids) == texts
    again = decide(store, ids[0], "correct")
    assert (again.decision, again.corrected_caption) == ("correction", f"0 {HOSTILE}")


def test_correct_for_many_pairs_accepts_their_edits(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    _, ids = edited
    with store.writing() as session:
        verdict_queries.add_verdicts(session, [(ids[0], 1), (ids[4], 1)], "correct", author="Ada")
    pair, plain = rows_of(store, [ids[0], ids[4]])
    assert (pair.judgement, pair.corrected_caption) == ("enriched", f"0 {HOSTILE}")
    assert (plain.judgement, plain.corrected_caption) == ("correct", None)


def test_nothing_is_written_if_part_of_an_edit_is_invalid(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    _, ids = edited
    before = rows_of(store, ids)
    with pytest.raises(ValueError, match="empty"):
        rewrite(store, (ids[0], 1, "x"), (ids[1], 2, " "))
    assert rewrite(store, (ids[0], 7, "late")).written == ()
    assert rows_of(store, ids) == before
