"""People label single claims of a caption: acts like verdicts, on the words that were seen."""

import pytest

from db import Store
from db.errors import VersionConflict
from db.queries import (
    claim_label_queries,
    claim_queries,
    dataset_queries,
    edit_queries,
    pair_queries,
    plot_queries,
    verdict_acts,
)
from db.queries.blind_review import set_reader
from db.queries.change_queries import Revision, revise_pairs
from db.queries.claim_labels import ClaimLabel, claim_labels, labels_of
from db.queries.claim_queries import ClaimRow
from db.queries.edit_queries import Rewrite
from db.queries.pair_queries import NewPair
from db.queries.verdict_acts import VerdictRow
from tests.db.building import add_pairs, decide, redo, rows_of, undo

TEXT = "A dog. A cat. It rains."
DOG, CAT, RAIN = (0, 6), (7, 13), (14, 23)


def add_captions(store: Store, count: int = 1) -> tuple[int, list[int]]:
    """Pairs with this caption, divided into its three sentences."""
    dataset_id, ids = add_pairs(
        store, "long", [NewPair(f"{i}", f"{i}.jpg", TEXT) for i in range(count)]
    )
    with store.writing() as session:
        claim_queries.save_claims(
            session, {id: [ClaimRow(id, *span, "sentence") for span in (DOG, CAT, RAIN)]
                      for id in ids}
        )  # fmt: skip
    return dataset_id, ids


def label(
    store: Store,
    pair_id: int,
    claim: tuple[int, int],
    is_right: bool | None,
    author: str = "Ada",
    version: int | None = None,
) -> VerdictRow:
    with store.writing() as session:
        if version is None:
            version = verdict_acts.pair_state(session, pair_id).version
        return claim_label_queries.add_claim_label(
            session, pair_id, version, claim, is_right, author=author
        )


def labels(store: Store, pair_id: int, reader: str | None = None) -> dict[int, bool]:
    with store.reading() as session:
        set_reader(session, reader)
        of_pair = labels_of(session, [pair_id]).get(pair_id, [])
    return {label.start: label.is_right for label in of_pair}


def state(store: Store, pair_id: int) -> tuple[str | None, str | None, str | None]:
    (row,) = rows_of(store, [pair_id])
    return row.decision, row.corrected_caption, row.decided_by


def test_a_label_names_its_claim_by_place_and_text(store: Store) -> None:
    dataset_id, (pair_id,) = add_captions(store)
    act = label(store, pair_id, CAT, True)
    assert (act.claim, act.decision, act.version) == (CAT[0], None, 1)
    with store.reading() as session:
        assert labels_of(session, [pair_id])[pair_id] == [ClaimLabel(*CAT, "A cat.", True, "Ada")]
        assert claim_labels(session, dataset_id) == {(pair_id, CAT[0]): True}


def test_a_claim_labelled_wrong_decides_its_caption_and_right_ones_do_not(store: Store) -> None:
    dataset_id, (pair_id,) = add_captions(store)
    for claim in (DOG, CAT, RAIN):
        label(store, pair_id, claim, True)
    assert state(store, pair_id) == (None, None, None), "A says that the caption is right"
    label(store, pair_id, CAT, False, "Ben")
    assert state(store, pair_id) == ("wrong", None, "Ben")
    label(store, pair_id, RAIN, False)
    label(store, pair_id, CAT, True)
    assert state(store, pair_id) == ("wrong", None, "Ben"), "another claim is wrong"
    label(store, pair_id, RAIN, None)
    assert state(store, pair_id) == (None, None, None)
    with store.reading() as session:
        assert claim_labels(session, dataset_id) == {(pair_id, 0): True, (pair_id, 7): True}


@pytest.mark.parametrize(
    ("before", "after"),
    [("drop", "drop"), ("wrong", "wrong"), ("correct", "wrong"), ("unsure", "wrong")],
)
def test_what_a_label_makes_of_a_verdict(store: Store, before: str, after: str) -> None:
    _, (pair_id,) = add_captions(store)
    decide(store, pair_id, before, "Ben")
    label(store, pair_id, CAT, False)
    assert state(store, pair_id) == (after, None, "Ben" if after == before else "Ada")
    label(store, pair_id, CAT, None)
    assert state(store, pair_id) == (before, None, "Ben")


def test_the_words_that_a_correction_replaces_may_be_labelled_wrong(store: Store) -> None:
    dataset_id, (pair_id,) = add_captions(store)
    decide(store, pair_id, "correction", caption="A dog. A cow. It rains.")
    label(store, pair_id, CAT, False)
    assert state(store, pair_id) == ("correction", "A dog. A cow. It rains.", "Ada")
    decide(store, pair_id, "drop")
    with store.reading() as session:
        assert claim_labels(session, dataset_id) == {(pair_id, CAT[0]): False}, "it stays"


def test_a_caption_called_right_has_no_wrong_claim(store: Store) -> None:
    _, (pair_id,) = add_captions(store)
    label(store, pair_id, DOG, True)
    label(store, pair_id, CAT, False)
    decide(store, pair_id, "correct")
    assert labels(store, pair_id) == {DOG[0]: True}
    undo(store, rows_of(store, [pair_id])[0].dataset_id)
    assert labels(store, pair_id) == {DOG[0]: True, CAT[0]: False}
    assert state(store, pair_id)[0] == "wrong"


def test_labels_are_undone_and_redone_with_verdicts_in_their_order(store: Store) -> None:
    dataset_id, (pair_id, other) = add_captions(store, 2)
    decide(store, pair_id, "unsure", "Ben")
    label(store, pair_id, DOG, True)
    label(store, pair_id, CAT, False)
    decide(store, other, "drop")
    states = []
    for _ in range(3):
        undone = undo(store, dataset_id)
        assert undone is not None
        states.append((undone.pair_id, undone.claim, state(store, pair_id), labels(store, pair_id)))
    assert states == [
        (other, None, ("wrong", None, "Ada"), {0: True, 7: False}),
        (pair_id, CAT[0], ("unsure", None, "Ben"), {0: True}),
        (pair_id, DOG[0], ("unsure", None, "Ben"), {}),
    ]
    assert undo(store, dataset_id) is None
    for _ in range(3):
        redo(store, dataset_id)
    assert (state(store, pair_id), labels(store, pair_id)) == (
        ("wrong", None, "Ada"), {0: True, 7: False}
    )  # fmt: skip
    assert state(store, other)[0] == "drop"


def test_a_label_is_written_once_and_on_what_was_seen(store: Store) -> None:
    _, (pair_id,) = add_captions(store)
    first = label(store, pair_id, CAT, False, version=0)
    assert label(store, pair_id, CAT, False, version=0) == first, "its answer was lost"
    for claim, is_right, author in ((CAT, True, "Ada"), (DOG, False, "Ada"), (CAT, False, "Ben")):
        with pytest.raises(VersionConflict):
            label(store, pair_id, claim, is_right, author, version=0)
    with pytest.raises(VersionConflict):
        decide(store, pair_id, "wrong", version=0), "it is no answer to a verdict"
    with pytest.raises(ValueError, match="characters"):
        label(store, pair_id, (14, 24), True)
    assert labels(store, pair_id) == {CAT[0]: False}


def test_labels_count_for_the_text_and_the_division_that_they_were_given_on(store: Store) -> None:
    dataset_id, (pair_id, other) = add_captions(store, 2)
    label(store, pair_id, CAT, False)
    label(store, pair_id, RAIN, True)
    label(store, other, DOG, True)
    shorter = TEXT.replace("cat", "cow")
    row = NewPair("0", "0.jpg", shorter)
    with store.writing() as session:
        revise_pairs(session, [Revision(pair_id, row, True, "same")], [])
        spans = [ClaimRow(pair_id, *span, "sentence") for span in (DOG, CAT, RAIN)]
        whole = ClaimRow(other, 0, len(TEXT), "sentence")
        claim_queries.save_claims(session, {pair_id: spans, other: [whole]})
    with store.reading() as session:
        assert claim_labels(session, dataset_id) == {(pair_id, RAIN[0]): True}
    assert labels(store, pair_id) == {RAIN[0]: True}


def test_an_edit_of_all_captions_keeps_labels_and_another_picture_does_not(store: Store) -> None:
    _, (pair_id,) = add_captions(store)
    label(store, pair_id, DOG, True)
    with store.writing() as session:
        edit_queries.rewrite(session, [Rewrite(pair_id, 1, f"{TEXT} Now.")], author="Ada")
    assert labels(store, pair_id) == {DOG[0]: True}
    with store.writing() as session:
        row = NewPair("0", "other.jpg", TEXT)
        revise_pairs(session, [Revision(pair_id, row, False, "other")], [])
    assert labels(store, pair_id) == {}


def test_whoever_is_still_to_judge_sees_their_own_labels_alone(store: Store) -> None:
    dataset_id, (pair_id,) = add_captions(store)
    with store.writing() as session:
        dataset_queries.set_overlap(session, dataset_id, 1.0, 2)
    label(store, pair_id, CAT, False, "Ada")
    label(store, pair_id, DOG, True, "Ben")
    assert labels(store, pair_id, "Ada") == {0: True, 7: False}
    assert labels(store, pair_id, "Ben") == {0: True}
    assert labels(store, pair_id, "Cem") == {}
    with store.reading() as session:
        set_reader(session, "Ben")
        assert pair_queries.get_pair(session, pair_id).decision is None
        assert claim_labels(session, dataset_id) == {}
    label(store, pair_id, RAIN, False, "Ben")  # and so their opinion is that it is wrong
    assert labels(store, pair_id, "Ben") == {0: True, 7: False, 14: False}
    assert labels(store, pair_id, "Cem") == {0: True, 7: False, 14: False}


def test_the_labels_of_a_pair_count_once_in_the_pace(store: Store) -> None:
    dataset_id, ids = add_captions(store, 2)
    for claim in (DOG, CAT):
        label(store, ids[0], claim, False)
    decide(store, ids[1])
    with store.reading() as session:
        assert [count for _, _, count in plot_queries.pace(session, dataset_id)] == [2]
