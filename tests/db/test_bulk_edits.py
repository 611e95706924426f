"""A bulk edit is one action: no verdict changes its meaning, and one undo reverts the edit."""

import pytest

from db import Store
from db.authors import edit_author
from db.errors import VersionConflict
from db.queries import opinions, pairs, progress_queries, verdict_queries
from db.queries.pairs import PairRow
from db.queries.verdict_queries import Rewrite
from tests.db.building import add_dataset

HOSTILE = "a 50% <b>犬</b> \\ ' photo"


@pytest.fixture
def edited(store: Store) -> tuple[int, list[int]]:
    """Pairs: undecided, correct, corrected, dropped, unsure; then all are edited by Bo."""
    dataset, ids = add_dataset(store, 5)
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[1], 0, "correct", author="Ada", note="sure")
        verdict_queries.add_verdict(session, ids[2], 0, "correction", "a cat", author="Ada")
        verdict_queries.add_verdict(session, ids[3], 0, "drop", author="Ada")
        verdict_queries.add_verdict(session, ids[4], 0, "unsure", author="Ada")
    with store.writing() as session:
        edits = [Rewrite(i, min(n, 1), f"{n} {HOSTILE}") for n, i in enumerate(ids)]
        done = verdict_queries.rewrite(session, edits, author="Bo")
    assert done.written == tuple(ids[:3])
    assert done.passed_over == tuple(ids[3:])
    return dataset, ids


def rows(store: Store, ids: list[int]) -> list[PairRow]:
    with store.reading() as session:
        return [pairs.get_pair(session, pair_id) for pair_id in ids]


def test_an_edit_is_no_verdict_on_the_picture(store: Store, edited: tuple[int, list[int]]) -> None:
    dataset, ids = edited
    undecided, right, wrong, dropped, unsure = rows(store, ids)
    assert (undecided.decision, undecided.corrected_caption) == (None, f"0 {HOSTILE}")
    assert undecided.decided_by is None
    assert (right.judgement, right.corrected_caption) == ("enriched", f"1 {HOSTILE}")
    assert (right.decided_by, right.note) == ("Ada", "sure")
    assert (wrong.judgement, wrong.corrected_caption) == ("correction", f"2 {HOSTILE}")
    assert wrong.decided_by == "Ada"
    assert (dropped.decision, unsure.decision) == ("drop", "unsure")
    with store.reading() as session:
        counted = pairs.counts(session, dataset)
        assert (counted.reviewed, counted.errors_found) == (4, 2)
        assert {o.author for i in ids for o in opinions.of_pair(session, i)} == {"Ada"}
        judged = {verdict for _, verdict in progress_queries.decided(session, dataset)}
        assert judged == {"enriched", "correction", "drop", "unsure"}
        acts = verdict_queries.history(session, ids[0])
    assert [(act.author, act.decision) for act in acts] == [(edit_author("Bo"), None)]


def test_an_accepted_edit_may_be_sent_twice(store: Store, edited: tuple[int, list[int]]) -> None:
    """The response to the first request may be lost on the way to the page."""
    pair = edited[1][0]
    acts = []
    for _ in range(2):
        with store.writing() as session:
            acts.append(verdict_queries.add_verdict(session, pair, 1, "correct", author="Ada"))
    assert acts[0] == acts[1]
    assert acts[0].decision == "correction"
    with store.writing() as session, pytest.raises(VersionConflict):
        verdict_queries.add_verdict(session, pair, 1, "drop", author="Ada")
    with store.writing() as session, pytest.raises(VersionConflict):
        verdict_queries.add_verdict(session, pair, 1, "correct", author="Ben")


def test_undo_reverts_a_whole_edit_and_redo_restores_it(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    dataset, ids = edited
    before = rows(store, ids)
    with store.writing() as session:
        assert verdict_queries.undo_last(session, dataset, "Eve") is None
        taken = verdict_queries.undo_last(session, dataset, "Bo")
    assert taken is not None
    assert taken.together == 3
    now = rows(store, ids)
    assert [pair.decision for pair in now] == [None, "correct", "correction", "drop", "unsure"]
    assert [pair.corrected_caption for pair in now] == [None, None, "a cat", None, None]
    assert [pair.decided_by for pair in now] == [None, "Ada", "Ada", "Ada", "Ada"]
    with store.writing() as session:
        again = verdict_queries.redo_last(session, dataset, "Bo")
    assert again is not None
    assert again.together == 3
    keys = ("decision", "corrected_caption", "enriches", "decided_by", "note")
    assert [[getattr(p, k) for k in keys] for p in rows(store, ids)] == [
        [getattr(p, k) for k in keys] for p in before
    ]


def test_an_edit_of_an_edit_keeps_the_decider(store: Store, edited: tuple[int, list[int]]) -> None:
    dataset, ids = edited
    with store.writing() as session:
        verdict_queries.rewrite(session, [Rewrite(ids[1], 2, "second")], author="Bo")
    with store.writing() as session:
        verdict_queries.undo_last(session, dataset, "Bo")
    (pair,) = rows(store, ids[1:2])
    assert (pair.corrected_caption, pair.decided_by) == (f"1 {HOSTILE}", "Ada")
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[1], pair.verdict_version, "drop", author="Bo")
    with store.writing() as session:
        # A later verdict on top of the edit stays; the rest of the edit is undone.
        taken = verdict_queries.undo_last(session, dataset, "Bo", only_edits=True)
    assert taken is not None
    assert [p.decision for p in rows(store, ids)] == [None, "drop", "correction", "drop", "unsure"]
    with store.writing() as session:
        verdict_queries.undo_last(session, dataset, "Bo")
    (pair,) = rows(store, ids[1:2])
    assert (pair.judgement, pair.decided_by) == ("enriched", "Ada")


def test_an_edit_back_to_the_original_caption_removes_the_edit(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    _, ids = edited
    captions = [pair.caption for pair in rows(store, ids)]
    with store.writing() as session:
        versions = [pair.verdict_version for pair in rows(store, ids)]
        edits = [Rewrite(i, v, c) for i, v, c in zip(ids, versions, captions, strict=True)]
        done = verdict_queries.rewrite(session, edits, author="Bo")
    assert done.written == tuple(ids[:2])  # a caption called wrong is not restored
    now = rows(store, ids)
    assert [(p.decision, p.corrected_caption) for p in now[:2]] == [(None, None), ("correct", None)]


@pytest.mark.parametrize("decision", ["unsure", "abstract", "drop"])
def test_a_verdict_without_a_text_does_not_take_the_edit_back(
    store: Store, edited: tuple[int, list[int]], decision: str
) -> None:
    _, ids = edited
    undecided, right, wrong = ids[:3]
    with store.writing() as session:
        verdict_queries.add_verdict(session, undecided, 1, decision, author="Ada")
        verdict_queries.add_verdict(session, right, 2, decision, author="Ada")
        verdict_queries.add_verdict(session, wrong, 2, decision, author="Ada")
    with store.reading() as session:
        # An edited correction goes with the correction.
        assert verdict_queries.edited_texts(session, ids) == {
            undecided: f"0 {HOSTILE}", right: f"1 {HOSTILE}",
        }  # fmt: skip
    with store.writing() as session:
        again = verdict_queries.add_verdict(session, undecided, 2, "correct", author="Ada")
    assert (again.decision, again.corrected_caption) == ("correction", f"0 {HOSTILE}")


def test_correct_for_many_pairs_accepts_their_edits(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    _, ids = edited
    with store.writing() as session:
        verdict_queries.add_verdicts(session, [(ids[0], 1), (ids[4], 1)], "correct", author="Ada")
    pair, plain = rows(store, [ids[0], ids[4]])
    assert (pair.judgement, pair.corrected_caption) == ("enriched", f"0 {HOSTILE}")
    assert (plain.judgement, plain.corrected_caption) == ("correct", None)


def test_an_undone_edit_is_not_in_effect(store: Store, edited: tuple[int, list[int]]) -> None:
    dataset, ids = edited
    with store.writing() as session:
        verdict_queries.undo_last(session, dataset, "Bo")
    with store.reading() as session:
        assert verdict_queries.edited_texts(session, ids) == {}


def test_nothing_is_written_if_part_of_an_edit_is_invalid(
    store: Store, edited: tuple[int, list[int]]
) -> None:
    _, ids = edited
    before = rows(store, ids)
    with pytest.raises(ValueError, match="empty"), store.writing() as session:
        verdict_queries.rewrite(
            session, [Rewrite(ids[0], 1, "x"), Rewrite(ids[1], 2, " ")], author="Bo"
        )
    with store.writing() as session:
        assert (
            verdict_queries.rewrite(session, [Rewrite(ids[0], 7, "late")], author="Bo").written
            == ()
        )
    assert rows(store, ids) == before
