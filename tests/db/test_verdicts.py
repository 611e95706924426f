"""Verdicts are stored, never changed, and undone by a new act."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from db import Store
from db.decisions import DECISIONS
from db.errors import MissingRow, UnstorableText, VersionConflict
from db.queries import (
    edit_queries,
    suggestion_queries,
    verdict_acts,
    verdict_queries,
    verdict_writing,
)
from db.queries.edit_queries import Rewrite
from db.queries.suggestion_queries import NewSuggestion
from db.queries.verdict_acts import VerdictRow
from tests.db.building import add_dataset, decide, decisions, redo, rows_of, undo
from tests.db.reference_verdicts import ReferenceVerdicts


def history(store: Store, pair_id: int) -> list[VerdictRow]:
    with store.reading() as session:
        return verdict_acts.history(session, pair_id)


def test_a_verdict_is_stored_with_its_author_and_time(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    act = decide(store, pair_id, "correction", caption="A  cat 🐈\n")
    assert history(store, pair_id) == [act]
    (pair,) = rows_of(store, [pair_id])
    assert (pair.decision, pair.corrected_caption) == ("correction", "A  cat 🐈\n")
    assert (pair.decided_by, pair.decided_at) == ("Ada", act.created_at)
    assert (pair.verdict_version, act.version) == (1, 1)


@pytest.mark.parametrize(
    "give",
    [
        lambda session, pair_id: verdict_queries.add_verdict(
            session, pair_id, 0, "drop", author="Ada"
        ),
        lambda session, pair_id: verdict_queries.add_verdicts(
            session, [(pair_id, 0)], "drop", author="Ada"
        ),
    ],
    ids=["alone", "with others"],
)
def test_a_verdict_is_committed_before_it_is_returned(
    store: Store, give: Callable[[Session, int], object]
) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    with store.writing() as session:
        give(session, pair_id)
        assert decisions(store, [pair_id]) == ["drop"], "seen by others before the block ends"


def test_a_repeated_verdict_is_stored_once(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    first = decide(store, pair_id, "correction", caption="better")
    assert decide(store, pair_id, "correction", caption="better", version=0) == first
    decide(store, pair_id, "drop", "Ben")
    assert decide(store, pair_id, "correction", caption="better", version=0) == first
    assert decisions(store, [pair_id]) == ["drop"]
    assert len(history(store, pair_id)) == 2


def test_a_different_verdict_on_an_outdated_version_is_a_conflict(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    first = decide(store, pair_id, "correction", caption="better")
    for author, decision, caption in (
        ("Ben", "correction", "better"), ("Ada", "drop", None), ("Ada", "correction", "other"),
    ):  # fmt: skip
        with pytest.raises(VersionConflict, match="Ada corrected it") as caught:
            decide(store, pair_id, decision, author, caption, version=0)
        current = caught.value.current
        assert caught.value.expected_version == 0
        assert (current.pair_id, current.version, current.decision) == (pair_id, 1, "correction")
        assert (current.corrected_caption, current.decided_by) == ("better", "Ada")
        assert current.decided_at == first.created_at
    assert history(store, pair_id) == [first]


def test_a_version_from_the_future_is_a_conflict(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    with pytest.raises(VersionConflict) as conflict:
        decide(store, pair_id, version=5)
    assert (conflict.value.expected_version, conflict.value.current.version) == (5, 0)


def test_an_undo_is_not_mistaken_for_a_repeated_verdict(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    decide(store, pair_id, "correct")
    decide(store, pair_id, "drop")
    undo(store, dataset_id)  # version 3 is "correct" again, but not a verdict
    with pytest.raises(VersionConflict):
        decide(store, pair_id, "correct", version=2)


def test_an_invalid_verdict_is_refused(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    for decision, caption, author, error, message in (
        ("incorrect", None, "Ada", ValueError, "not a decision"),
        ("correction", None, "Ada", ValueError, "belongs to the decision"),
        ("drop", "better", "Ada", ValueError, "belongs to the decision"),
        ("correction", " \n", "Ada", ValueError, "empty"),
        ("drop", None, " ", ValueError, "author"),
        ("correction", "a\x00b", "Ada", UnstorableText, "corrected caption holds"),
        ("correction", "a dog \ud800", "Ada", UnstorableText, "corrected caption holds"),
    ):
        with pytest.raises(error, match=message):
            decide(store, pair_id, decision, author, caption)
    assert history(store, pair_id) == []
    with pytest.raises(MissingRow, match="no pair 5"):
        decide(store, 5, version=0)


def test_a_suggestion_must_belong_to_the_pair(store: Store) -> None:
    _, (first, second) = add_dataset(store, 2)
    with store.writing() as session:
        suggestion_queries.save_suggestions(
            session, [NewSuggestion(first, "infill", "better", 0, 1)]
        )
        (suggestion,) = suggestion_queries.list_suggestions(session, first)
    with pytest.raises(MissingRow, match="has no suggestion"):
        decide(store, second, "correction", "Ada", "better", suggestion_id=suggestion.id)
    act = decide(store, first, "correction", "Ada", "better", suggestion_id=suggestion.id)
    assert act.suggestion_id == suggestion.id
    assert decisions(store, [first, second]) == ["correction", None]


def test_undo_restores_the_previous_verdict(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    first = decide(store, pair_id, "correction", "Ben", "better")
    decide(store, pair_id, "drop")
    decide(store, pair_id, "unsure")
    undo(store, dataset_id)
    assert decisions(store, [pair_id]) == ["drop"]
    undo(store, dataset_id)
    (pair,) = rows_of(store, [pair_id])
    assert (pair.decision, pair.corrected_caption) == ("correction", "better")
    assert (pair.decided_by, pair.decided_at) == ("Ben", first.created_at)
    assert undo(store, dataset_id) is None, "Ada has nothing left, and Ben's is not hers to undo"
    undo(store, dataset_id, "Ben")
    (pair,) = rows_of(store, [pair_id])
    assert (pair.decision, pair.decided_by, pair.decided_at) == (None, None, None)
    assert [(act.undoes, act.standing_version) for act in history(store, pair_id)] == [
        (None, 1), (None, 2), (None, 3), (3, 2), (2, 1), (1, 0),
    ]  # fmt: skip


def test_undo_is_limited_to_its_dataset(store: Store) -> None:
    first, (pair_id,) = add_dataset(store, 1, "first")
    second, _ = add_dataset(store, 1, "second")
    decide(store, pair_id)
    assert undo(store, second) is None
    assert undo(store, first) is not None
    assert redo(store, second) is None
    assert redo(store, first) is not None


@pytest.mark.parametrize("seed", range(2))
def test_any_sequence_of_acts_agrees_with_the_reference(store: Store, seed: int) -> None:
    dataset_id, ids = add_dataset(store, 4)
    reference = ReferenceVerdicts()
    choose = random.Random(seed)
    for step in range(60):
        author = choose.choice(["Ada", "Ben"])
        act = choose.choice(["decide", "undo", "undo", "redo"])
        if act == "decide":
            pair_id, decision = choose.choice(ids), choose.choice(DECISIONS)
            corrected = f"better {step}" if decision == "correction" else None
            seen = reference.acts.get(pair_id, 0)
            decide(store, pair_id, decision, author, corrected, seen)
            reference.decide(pair_id, author, decision)
        else:
            done = (undo if act == "undo" else redo)(store, dataset_id, author)
            expected = getattr(reference, act)(author)
            assert (done.pair_id if done else None) == expected, f"step {step}: {act} by {author}"
        assert decisions(store, ids) == [reference.decision(pair_id) for pair_id in ids]
    for pair_id in ids:
        acts = history(store, pair_id)
        assert [a.version for a in acts] == list(range(1, reference.acts.get(pair_id, 0) + 1))
        assert all(after.replaces == before.standing_version for before, after in pairwise(acts))


def test_the_database_itself_refuses_to_change_a_verdict(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    act = decide(store, pair_id)
    for change in ("decision = 'correct'", "author = 'Eve'", "version = 9"):
        with pytest.raises(DBAPIError, match="append-only"), store.writing() as session:
            session.execute(text(f"UPDATE verdicts SET {change}"))
    assert history(store, pair_id) == [act]


def test_the_database_itself_refuses_an_invalid_verdict(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    columns = (
        "pair_id, version, author, created_at, replaces, standing_version, decision, "
        "corrected_caption"
    )
    begin = f"INSERT INTO verdicts ({columns}) VALUES ({pair_id}, 1, 'Eve', CURRENT_TIMESTAMP, 0, 1"
    for values in ("'nonsense', NULL", "'correction', NULL", "'drop', 'a caption'"):
        with pytest.raises(DBAPIError), store.writing() as session:
            session.execute(text(f"{begin}, {values})"))
    with store.writing() as session:  # only the values were wrong
        session.execute(text(f"{begin}, 'drop', NULL)"))


def test_many_pairs_are_decided_together_and_undone_at_once(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 6)
    decide(store, ids[0], "correct")
    decide(store, ids[5], "unsure", "Ben")
    with store.writing() as session:
        seen = [(ids[0], 1), *((i, 0) for i in ids[1:])]
        done = verdict_queries.add_verdicts(session, seen, "drop", author="Ada")
    assert done == verdict_writing.BatchOutcome(tuple(ids[:5]), (ids[5],)), (
        "Ben was faster on the last"
    )
    assert decisions(store, ids) == ["drop"] * 5 + ["unsure"]
    decide(store, ids[1], "abstract", "Ben")
    undone = undo(store, dataset_id)
    assert undone is not None
    assert undone.together == 4, "what Ben has decided over does not stand any more"
    assert decisions(store, ids) == ["correct", "abstract", None, None, None, "unsure"]
    redone = redo(store, dataset_id)
    assert redone is not None
    assert redone.together == 4
    assert decisions(store, ids) == ["drop", "abstract", "drop", "drop", "drop", "unsure"]
    undo(store, dataset_id)
    alone = undo(store, dataset_id)
    assert alone is not None
    assert alone.together == 1, "the verdict before the batch was given by itself"
    assert decisions(store, ids) == [None, "abstract", None, None, None, "unsure"]


def test_an_undo_and_a_redo_that_are_requested_twice_are_done_once(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    for pair_id in ids:
        decide(store, pair_id, "drop")
    first = undo(store, dataset_id, request_id="a")
    again = undo(store, dataset_id, request_id="a")
    assert first is not None
    assert (first.request_id, again) == ("a", first)
    assert decisions(store, ids) == ["drop", "drop", None]
    assert undo(store, dataset_id, "Ben", request_id="a") is None, "another author's id"
    undo(store, dataset_id, request_id="b")
    assert decisions(store, ids) == ["drop", None, None]
    redone = redo(store, dataset_id, request_id="c")
    assert redone is not None
    assert redo(store, dataset_id, request_id="c") == redone
    assert decisions(store, ids) == ["drop", "drop", None]
    for name in ("d", "e"):
        undo(store, dataset_id, request_id=name)
    last = undo(store, dataset_id, request_id="e")
    assert last is not None, "nothing is left to undo, and it was this request that undid it"
    assert last.request_id == "e"


def test_nothing_is_written_of_an_invalid_batch(store: Store) -> None:
    _, ids = add_dataset(store, 2)
    with pytest.raises(MissingRow), store.writing() as session:
        verdict_queries.add_verdicts(session, [(ids[0], 0), (10**6, 0)], "drop", author="Ada")
    with pytest.raises(ValueError, match="correction"), store.writing() as session:
        verdict_queries.add_verdicts(session, [(ids[0], 0)], "correction", author="Ada")
    assert decisions(store, ids) == [None, None]


def test_deciders_include_people_and_rules_but_not_edits(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    with store.reading() as session:
        assert verdict_acts.first_deciders(session, 9) == []
    decide(store, ids[0], "drop", "Ben")
    decide(store, ids[1], "drop", "rule: gain over 0.2")
    with store.writing() as session:
        edit_queries.rewrite(session, [Rewrite(ids[2], 0, "edited")], author="Cid")
    undo(store, dataset_id, "Ben")
    with store.reading() as session:
        assert verdict_acts.first_deciders(session, 9) == ["Ben", "rule: gain over 0.2"]
        assert verdict_acts.first_deciders(session, 1) == ["Ben"]
        assert verdict_acts.has_decided(session, "Ben"), "taken back, but given once"
        for name in ("Cid", "rule: edit by Cid", "Be"):
            assert not verdict_acts.has_decided(session, name)
