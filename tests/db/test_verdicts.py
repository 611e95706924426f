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
from db.errors import MissingRow, VersionConflict
from db.queries import pairs, suggestions, verdict_queries
from db.queries.suggestions import NewSuggestion
from db.queries.verdict_queries import VerdictRow
from tests.db.building import add_dataset, decided_pairs
from tests.db.reference_verdicts import ReferenceVerdicts


def decide(
    store: Store,
    pair_id: int,
    expected_version: int,
    decision: str,
    author: str = "Ada",
    corrected_caption: str | None = None,
    suggestion_id: int | None = None,
) -> VerdictRow:
    with store.writing() as session:
        return verdict_queries.add_verdict(
            session,
            pair_id,
            expected_version,
            decision,
            corrected_caption,
            suggestion_id,
            author=author,
        )


def undo(store: Store, dataset_id: int, author: str = "Ada") -> VerdictRow | None:
    with store.writing() as session:
        return verdict_queries.undo_last(session, dataset_id, author)


def redo(store: Store, dataset_id: int, author: str = "Ada") -> VerdictRow | None:
    with store.writing() as session:
        return verdict_queries.redo_last(session, dataset_id, author)


def decisions(store: Store, ids: list[int]) -> list[str | None]:
    with store.reading() as session:
        return [pairs.get_pair(session, pair_id).decision for pair_id in ids]


def test_a_verdict_is_stored_with_its_author_and_time(store: Store) -> None:
    _, (pair_id, _) = add_dataset(store, 2)
    given = decide(store, pair_id, 0, "correction", corrected_caption="A  cat 🐈\n")
    with store.reading() as session:
        assert verdict_queries.history(session, pair_id) == [given]
        pair = pairs.get_pair(session, pair_id)
    assert (pair.decision, pair.corrected_caption) == ("correction", "A  cat 🐈\n")
    assert (pair.decided_by, pair.decided_at) == ("Ada", given.created_at)
    assert (pair.verdict_version, given.version) == (1, 1)


def decide_alone(session: Session, pair_id: int) -> None:
    verdict_queries.add_verdict(session, pair_id, 0, "drop", author="Ada")


def decide_with_others(session: Session, pair_id: int) -> None:
    verdict_queries.add_verdicts(session, [(pair_id, 0)], "drop", author="Ada")


@pytest.mark.parametrize("give", [decide_alone, decide_with_others])
def test_a_verdict_is_committed_before_it_is_returned(
    store: Store, give: Callable[[Session, int], None]
) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    with store.writing() as session:
        give(session, pair_id)
        assert decisions(store, [pair_id]) == ["drop"], "seen by others before the block ends"


def test_a_new_verdict_replaces_the_current_one(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    decide(store, pair_id, 0, "correction", corrected_caption="better")
    decide(store, pair_id, 1, "abstract")
    with store.reading() as session:
        acts = verdict_queries.history(session, pair_id)
        (holds,) = decided_pairs(session, dataset_id)
    assert [(act.version, act.replaces, act.standing_version) for act in acts] == [
        (1, 0, 1),
        (2, 1, 2),
    ]
    assert (holds.decision, holds.corrected_caption, holds.verdict_version) == ("abstract", None, 2)


def test_a_repeated_verdict_is_stored_once(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    first = decide(store, pair_id, 0, "correction", corrected_caption="better")
    assert decide(store, pair_id, 0, "correction", corrected_caption="better") == first
    decide(store, pair_id, 1, "drop", "Ben")
    assert decide(store, pair_id, 0, "correction", corrected_caption="better") == first
    assert decisions(store, [pair_id]) == ["drop"]
    with store.reading() as session:
        assert len(verdict_queries.history(session, pair_id)) == 2


@pytest.mark.parametrize(
    ("author", "decision", "corrected"),
    [
        ("Ben", "correction", "better"),
        ("Ada", "drop", None),
        ("Ada", "correction", "still better"),
    ],
)
def test_a_different_verdict_on_an_outdated_version_is_a_conflict(
    store: Store, author: str, decision: str, corrected: str | None
) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    first = decide(store, pair_id, 0, "correction", corrected_caption="better")
    with pytest.raises(VersionConflict, match="now is 'correction' by Ada") as caught:
        decide(store, pair_id, 0, decision, author, corrected)
    current = caught.value.current
    assert caught.value.expected_version == 0
    assert (current.pair_id, current.version, current.decision) == (pair_id, 1, "correction")
    assert (current.corrected_caption, current.decided_by) == ("better", "Ada")
    assert current.decided_at == first.created_at
    with store.reading() as session:
        assert verdict_queries.history(session, pair_id) == [first]


def test_a_version_from_the_future_is_a_conflict(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    with pytest.raises(VersionConflict, match=r"is undecided .version 0, you saw version 5"):
        decide(store, pair_id, 5, "drop")


def test_an_undo_is_not_mistaken_for_a_repeated_verdict(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    decide(store, pair_id, 0, "correct")
    decide(store, pair_id, 1, "drop")
    undo(store, dataset_id)  # version 3 is "correct" again, but not a verdict
    with pytest.raises(VersionConflict):
        decide(store, pair_id, 2, "correct")


@pytest.mark.parametrize(
    ("decision", "corrected", "author", "message"),
    [
        ("incorrect", None, "Ada", "not a decision"),
        ("correction", None, "Ada", "belongs to the decision"),
        ("drop", "better", "Ada", "belongs to the decision"),
        ("correction", " \n", "Ada", "empty"),
        ("drop", None, " ", "author"),
    ],
)
def test_an_invalid_verdict_is_refused(
    store: Store, decision: str, corrected: str | None, author: str, message: str
) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    with pytest.raises(ValueError, match=message):
        decide(store, pair_id, 0, decision, author, corrected)
    with store.reading() as session:
        assert verdict_queries.history(session, pair_id) == []


def test_a_suggestion_must_belong_to_the_pair(store: Store) -> None:
    _, (first, second) = add_dataset(store, 2)
    with store.writing() as session:
        suggestions.save_suggestions(session, [NewSuggestion(first, "infill", "better", 0, 1)])
        (suggestion,) = suggestions.list_suggestions(session, first)
    with pytest.raises(MissingRow, match="has no suggestion"):
        decide(store, second, 0, "correction", "Ada", "better", suggestion.id)
    assert (
        decide(store, first, 0, "correction", "Ada", "better", suggestion.id).suggestion_id
        == suggestion.id
    )
    assert decisions(store, [first, second]) == ["correction", None]


def test_an_unknown_pair_is_reported(store: Store) -> None:
    with pytest.raises(MissingRow, match="no pair 5"):
        decide(store, 5, 0, "drop")


def test_undo_restores_the_previous_verdict(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    first = decide(store, pair_id, 0, "correction", "Ben", "better")
    decide(store, pair_id, 1, "drop", "Ada")
    decide(store, pair_id, 2, "unsure", "Ada")
    undo(store, dataset_id)
    assert decisions(store, [pair_id]) == ["drop"]
    undo(store, dataset_id)
    with store.reading() as session:
        pair = pairs.get_pair(session, pair_id)
    assert (pair.decision, pair.corrected_caption) == ("correction", "better")
    assert (pair.decided_by, pair.decided_at) == ("Ben", first.created_at)
    assert undo(store, dataset_id) is None, "Ada has nothing left, and Ben's is not hers to undo"
    undo(store, dataset_id, "Ben")
    with store.reading() as session:
        pair = pairs.get_pair(session, pair_id)
        acts = verdict_queries.history(session, pair_id)
    assert (pair.decision, pair.decided_by, pair.decided_at) == (None, None, None)
    assert [(act.undoes, act.standing_version) for act in acts] == [
        (None, 1),
        (None, 2),
        (None, 3),
        (3, 2),
        (2, 1),
        (1, 0),
    ]


def test_undo_is_limited_to_its_dataset(store: Store) -> None:
    first, (pair_id,) = add_dataset(store, 1, "first")
    second, _ = add_dataset(store, 1, "second")
    decide(store, pair_id, 0, "drop")
    assert undo(store, second) is None
    assert undo(store, first) is not None
    assert redo(store, second) is None
    assert redo(store, first) is not None


@pytest.mark.parametrize("seed", range(4))
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
            decide(store, pair_id, seen, decision, author, corrected)
            reference.decide(pair_id, author, decision)
        else:
            done = (undo if act == "undo" else redo)(store, dataset_id, author)
            expected = getattr(reference, act)(author)
            assert (done.pair_id if done else None) == expected, f"step {step}: {act} by {author}"
        assert decisions(store, ids) == [reference.decision(pair_id) for pair_id in ids]
    with store.reading() as session:
        for pair_id in ids:
            acts = verdict_queries.history(session, pair_id)
            assert [a.version for a in acts] == list(range(1, reference.acts.get(pair_id, 0) + 1))
            for before, after in pairwise(acts):
                assert after.replaces == before.standing_version


@pytest.mark.parametrize("column", ["decision = 'correct'", "author = 'Eve'", "version = 9"])
def test_the_database_itself_refuses_to_change_a_verdict(store: Store, column: str) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    given = decide(store, pair_id, 0, "drop")
    with pytest.raises(DBAPIError, match="append-only"), store.writing() as session:
        session.execute(text(f"UPDATE verdicts SET {column}"))
    with store.reading() as session:
        assert verdict_queries.history(session, pair_id) == [given]


@pytest.mark.parametrize(
    "values", ["'nonsense', NULL", "'correction', NULL", "'drop', 'a caption'"]
)
def test_the_database_itself_refuses_an_invalid_verdict(store: Store, values: str) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    with pytest.raises(DBAPIError), store.writing() as session:
        session.execute(
            text(
                "INSERT INTO verdicts (pair_id, version, decision, corrected_caption, author, "
                f"created_at, replaces, standing_version) VALUES ({pair_id}, 1, {values}, 'Eve', "
                "CURRENT_TIMESTAMP, 0, 1)"
            )
        )


def test_many_pairs_are_decided_together_and_undone_at_once(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 6)
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[0], 0, "correct", author="Ada")
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[5], 0, "unsure", author="Ben")
    with store.writing() as session:
        seen = [(ids[0], 1), *((i, 0) for i in ids[1:])]
        done = verdict_queries.add_verdicts(session, seen, "drop", author="Ada")
    assert done == verdict_queries.Decided(tuple(ids[:5]), (ids[5],)), "Ben was faster on the last"

    def decisions() -> list[str | None]:
        with store.reading() as session:
            return [pairs.get_pair(session, i).decision for i in ids]

    assert decisions() == ["drop"] * 5 + ["unsure"]
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[1], 1, "abstract", author="Ben")
    with store.writing() as session:
        undone = verdict_queries.undo_last(session, dataset_id, "Ada")
    assert undone is not None
    assert undone.together == 4, "what Ben has decided over does not stand any more"
    assert decisions() == ["correct", "abstract", None, None, None, "unsure"]
    with store.writing() as session:
        again = verdict_queries.redo_last(session, dataset_id, "Ada")
    assert again is not None
    assert again.together == 4
    assert decisions() == ["drop", "abstract", "drop", "drop", "drop", "unsure"]
    with store.writing() as session:
        verdict_queries.undo_last(session, dataset_id, "Ada")
    with store.writing() as session:
        alone = verdict_queries.undo_last(session, dataset_id, "Ada")
    assert alone is not None
    assert alone.together == 1, "the verdict before the batch was given by itself"
    assert decisions() == [None, "abstract", None, None, None, "unsure"]


def test_nothing_is_written_of_an_invalid_batch(store: Store) -> None:
    _, ids = add_dataset(store, 2)
    with pytest.raises(MissingRow), store.writing() as session:
        verdict_queries.add_verdicts(session, [(ids[0], 0), (10**6, 0)], "drop", author="Ada")
    with pytest.raises(ValueError, match="correction"), store.writing() as session:
        verdict_queries.add_verdicts(session, [(ids[0], 0)], "correction", author="Ada")
    with store.reading() as session:
        assert pairs.get_pair(session, ids[0]).decision is None


def test_deciders_include_people_and_rules_but_not_edits(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    with store.reading() as session:
        assert verdict_queries.first_deciders(session, 9) == []
    decide(store, ids[0], 0, "drop", "Ben")
    decide(store, ids[1], 0, "drop", "rule: gain over 0.2")
    with store.writing() as session:
        verdict_queries.rewrite(
            session, [verdict_queries.Rewrite(ids[2], 0, "edited")], author="Cid"
        )
    undo(store, dataset_id, "Ben")
    with store.reading() as session:
        assert verdict_queries.first_deciders(session, 9) == ["Ben", "rule: gain over 0.2"]
        assert verdict_queries.first_deciders(session, 1) == ["Ben"]
        assert verdict_queries.has_decided(session, "Ben"), "taken back, but given once"
        assert not verdict_queries.has_decided(session, "Cid")
        assert not verdict_queries.has_decided(session, "rule: edit by Cid")
        assert not verdict_queries.has_decided(session, "Be")
