"""Groups of near duplicates, and copies dropped by one action, on both databases."""

import pytest

from db import Store
from db.authors import duplicate_author
from db.models import PictureSignals
from db.queries import (
    dataset_queries,
    opinions,
    pairs,
    pictures,
    progress_queries,
    verdict_queries,
)
from db.queries.pairs import NewPair
from db.queries.pictures import DuplicateCounts, DuplicateRow
from tests.db.building import add_dataset

NOBODY = DuplicateCounts(0, 0, 0)


def grouped(store: Store, *groups: list[int]) -> list[DuplicateRow]:
    return [
        DuplicateRow(pair_id, group[0], 1 - place / 100)
        for group in groups
        for place, pair_id in enumerate(group)
    ]


@pytest.fixture
def dataset(store: Store) -> tuple[int, list[int]]:
    """Seven pictures: 0, 2 and 4 are duplicates, and so are 1 and 5."""
    made, ids = add_dataset(store, 7)
    _, others = add_dataset(store, 3, "other")
    with store.writing() as session:
        rows = grouped(store, [ids[0], ids[4], ids[2]], [ids[1], ids[5]])
        pictures.replace_groups(session, made, rows)
        other = pairs.get_pair(session, others[0]).dataset_id
        pictures.replace_groups(session, other, grouped(store, others[:2]))
    return made, ids


def test_groups_are_replaced_as_a_whole(store: Store, dataset: tuple[int, list[int]]) -> None:
    made, ids = dataset
    with store.reading() as session:
        assert pictures.group_ids(session, made) == [ids[0], ids[1]]
        assert pictures.group_ids(session, made, after=ids[0]) == [ids[1]]
        assert pictures.group_ids(session, made, limit=1) == [ids[0]]
        assert pictures.counts(session, made) == DuplicateCounts(2, 2, 5)
        listed = pictures.members(session, [ids[1], ids[0]])
        assert [row.pair_id for row in listed] == [ids[0], ids[4], ids[2], ids[1], ids[5]]
        assert listed[1].similarity == pytest.approx(0.99)
        assert (listed[0].caption, listed[0].has_same_pixels) == ("photo number 0", None)
    with store.writing() as session:
        pictures.replace_groups(session, made, [])
    with store.reading() as session:
        assert pictures.counts(session, made) == NOBODY
        assert pictures.counts(session, made + 1) == DuplicateCounts(1, 1, 2)
    with store.writing() as session:
        dataset_queries.delete_dataset(session, made + 1)
        dataset_queries.delete_dataset(session, made)


def test_dropped_duplicates_say_nothing_about_captions(
    store: Store, dataset: tuple[int, list[int]]
) -> None:
    made, ids = dataset
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[3], 0, "drop", author="Ada")
        done = verdict_queries.add_verdicts(
            session, [(ids[2], 0), (ids[4], 0)], "drop", author=duplicate_author("Ada")
        )
    assert done.written == (ids[2], ids[4])
    with store.reading() as session:
        assert pictures.group_ids(session, made, only_open=True) == [ids[1]]
        assert pictures.counts(session, made).open == 1
        counted = pairs.counts(session, made)
        assert (counted.reviewed, counted.errors_found) == (3, 1)
        assert counted.by_decision == {"drop": 1, "duplicate": 2}
        assert pairs.review_counts(session, made).errors_found == 1
        assert pairs.get_pair(session, ids[2]).judgement == "duplicate"
        assert [verdict for _, verdict in progress_queries.decided(session, made)] == ["drop"]
        assert opinions.of_pair(session, ids[2]) == []
        assert progress_queries.reached(session, made).errors_found == 1
    with store.writing() as session:
        undone = verdict_queries.undo_last(session, made, "Ada")
    assert undone is not None
    assert (undone.together, undone.decision) == (2, None)
    with store.reading() as session:
        assert pairs.counts(session, made).by_decision == {"drop": 1}
        assert pictures.counts(session, made).open == 2
    with store.writing() as session:
        again = verdict_queries.redo_last(session, made, "Ada")
    assert again is not None
    assert (again.together, again.decision) == (2, "drop")
    with store.writing() as session:
        assert verdict_queries.undo_last(session, made, "Ben") is None


def test_a_group_is_open_while_a_choice_remains(
    store: Store, dataset: tuple[int, list[int]]
) -> None:
    made, ids = dataset

    def open_groups() -> list[int]:
        with store.reading() as session:
            return pictures.group_ids(session, made, only_open=True)

    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[1], 0, "correct", author="Ada")
    assert open_groups() == [ids[0], ids[1]]  # the other is undecided
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[5], 0, "correct", author="Ada")
    assert open_groups() == [ids[0]]  # both are to be kept
    with store.writing() as session:
        verdict_queries.add_verdict(session, ids[0], 0, "drop", author="Ada")
        verdict_queries.add_verdict(session, ids[4], 0, "abstract", author="Ada")
    assert open_groups() == []  # one is left


def test_captions_of_one_picture_are_not_duplicates_and_pixels_are_compared(store: Store) -> None:
    with store.writing() as session:
        made = dataset_queries.create_dataset(session, "captions", "/data/c", "/data/c").id
        rows = [NewPair(str(n), f"{n // 2}.jpg", f"caption {n}", source_row=n) for n in range(4)]
        pairs.add_pairs(session, made, rows)
        ids = [pair.id for pair in pairs.iterate_pairs(session, made)]
        group = [DuplicateRow(pair_id, ids[0], 1.0 if n < 2 else 0.985) for n, pair_id in
                 enumerate(ids)]  # fmt: skip
        pictures.replace_groups(session, made, group)
        for pair_id, pixels in ((ids[0], "a" * 32), (ids[1], "a" * 32), (ids[3], "b" * 32)):
            session.add(
                PictureSignals(
                    pair_id=pair_id, brightness_perc_5=0, brightness_perc_99=1, aspect_ratio=1,
                    entropy=1, blurriness=0.5, blurriness_grayscale_std=1, size=96, pixels=pixels,
                    phash="c" * 16,
                )
            )  # fmt: skip
    with store.reading() as session:
        listed = pictures.members(session, [ids[0]])
        assert [row.pair_id for row in listed] == ids
        assert [row.has_same_pixels for row in listed] == [True, True, None, False]
        assert (listed[3].sharpness, listed[3].size, listed[2].sharpness) == (0.5, 96, None)
        assert pictures.counts(session, made) == DuplicateCounts(1, 1, 2)
    with store.writing() as session:
        verdict_queries.add_verdicts(session, [(ids[2], 0), (ids[3], 0)], "drop", author="Ada")
    with store.reading() as session:
        # Two captions are undecided, but of one picture.
        assert pictures.counts(session, made).open == 0
