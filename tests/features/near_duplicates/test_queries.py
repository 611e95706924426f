"""Groups of near duplicates, and copies dropped by one action, on both databases."""

import pytest
from sqlalchemy import text

from backend.features.near_duplicates import queries
from backend.features.near_duplicates.filter import count_answers
from backend.features.near_duplicates.queries import DuplicateCounts, DuplicateRow
from db import Store
from db.authors import duplicate_author
from db.queries import (
    dataset_queries,
    opinion_queries,
    pair_queries,
    plot_queries,
    verdict_queries,
)
from db.queries.pair_queries import NewPair
from tests.db.building import add_dataset, add_pairs, decide, redo, rows_of, undo


def group(store: Store, dataset_id: int, *groups: list[int]) -> None:
    """Each group's first pair names it; the others are less similar one by one."""
    rows = [
        DuplicateRow(pair_id, of_group[0], 1 - index / 100)
        for of_group in groups
        for index, pair_id in enumerate(of_group)
    ]
    with store.writing() as session:
        queries.replace_groups(session, dataset_id, rows)


@pytest.fixture
def dataset(store: Store) -> tuple[int, list[int]]:
    """Seven pictures: 0, 2 and 4 are duplicates, and so are 1 and 5."""
    dataset_id, ids = add_dataset(store, 7)
    other, others = add_dataset(store, 3, "other")
    group(store, dataset_id, [ids[0], ids[4], ids[2]], [ids[1], ids[5]])
    group(store, other, others[:2])
    return dataset_id, ids


def test_groups_are_replaced_as_a_whole(store: Store, dataset: tuple[int, list[int]]) -> None:
    dataset_id, ids = dataset
    with store.reading() as session:
        assert queries.group_ids(session, dataset_id) == [ids[0], ids[1]]
        assert queries.group_ids(session, dataset_id, after=ids[0]) == [ids[1]]
        assert queries.group_ids(session, dataset_id, limit=1) == [ids[0]]
        assert queries.counts(session, dataset_id) == DuplicateCounts(2, 2, 5)
        listed = queries.members(session, [ids[1], ids[0]])
    assert [row.pair_id for row in listed] == [ids[0], ids[4], ids[2], ids[1], ids[5]]
    assert listed[1].similarity == pytest.approx(0.99)
    assert (listed[0].caption, listed[0].has_same_pixels) == ("photo number 0", None)
    group(store, dataset_id)
    with store.writing() as session:
        assert queries.counts(session, dataset_id) == DuplicateCounts(0, 0, 0)
        assert queries.counts(session, dataset_id + 1) == DuplicateCounts(1, 1, 2)
        dataset_queries.delete_dataset(session, dataset_id + 1)


def test_the_filter_counts_nothing_where_no_group_was_found(
    store: Store, dataset: tuple[int, list[int]]
) -> None:
    dataset_id, ids = dataset
    with store.reading() as session:
        assert count_answers(session, ids) == {"yes": 5, "no": 2}
        assert count_answers(session, [ids[3], ids[6]]) == {"yes": 0, "no": 2}
        assert count_answers(session, []) == {}
    group(store, dataset_id)
    with store.reading() as session:
        assert count_answers(session, ids) == {}


def test_dropped_duplicates_say_nothing_about_captions(
    store: Store, dataset: tuple[int, list[int]]
) -> None:
    dataset_id, ids = dataset
    decide(store, ids[3])
    with store.writing() as session:
        done = verdict_queries.add_verdicts(
            session, [(ids[2], 0), (ids[4], 0)], "drop", author=duplicate_author("Ada")
        )
    assert done.written == (ids[2], ids[4])
    assert rows_of(store, [ids[2]])[0].judgement == "duplicate"
    with store.reading() as session:
        assert queries.group_ids(session, dataset_id, only_open=True) == [ids[1]]
        assert queries.counts(session, dataset_id).open == 1
        counted = pair_queries.counts(session, dataset_id)
        assert (counted.reviewed, counted.errors_found) == (3, 1)
        assert counted.by_decision == {"drop": 1, "duplicate": 2}
        assert pair_queries.review_counts(session, dataset_id).errors_found == 1
        assert [verdict for *_, verdict in plot_queries.decided_points(session, dataset_id)] == [
            "drop"
        ]
        assert opinion_queries.of_pair(session, ids[2]) == []
        assert plot_queries.review_progress(session, dataset_id).errors_found == 1
    undone = undo(store, dataset_id)
    assert undone is not None
    assert (undone.together, undone.decision) == (2, None)
    with store.reading() as session:
        assert pair_queries.counts(session, dataset_id).by_decision == {"drop": 1}
        assert queries.counts(session, dataset_id).open == 2
    again = redo(store, dataset_id)
    assert again is not None
    assert (again.together, again.decision) == (2, "drop")
    assert undo(store, dataset_id, "Ben") is None


def test_a_group_is_open_while_a_choice_remains(
    store: Store, dataset: tuple[int, list[int]]
) -> None:
    dataset_id, ids = dataset

    def open_groups() -> list[int]:
        with store.reading() as session:
            return queries.group_ids(session, dataset_id, only_open=True)

    decide(store, ids[1], "correct")
    assert open_groups() == [ids[0], ids[1]]  # the other is undecided
    decide(store, ids[5], "correct")
    assert open_groups() == [ids[0]]  # both are to be kept
    decide(store, ids[0], "drop")
    decide(store, ids[4], "abstract")
    assert open_groups() == []  # one is left


def test_captions_of_one_picture_are_not_duplicates_and_pixels_are_compared(store: Store) -> None:
    dataset_id, ids = add_pairs(
        store, "captions", [NewPair(str(n), f"{n // 2}.jpg", f"caption {n}") for n in range(4)]
    )
    group(store, dataset_id, ids)
    with store.writing() as session:
        for pair_id, pixels in ((ids[0], "a" * 32), (ids[1], "a" * 32), (ids[3], "b" * 32)):
            session.execute(
                text(
                    "INSERT INTO picture_signals VALUES "
                    f"({pair_id}, 0, 1, 1, 1, 0.5, 1, 96, '{pixels}', '{'c' * 16}')"
                )
            )
    with store.writing() as session:
        listed = queries.members(session, [ids[0]])
        assert [row.pair_id for row in listed] == ids
        assert [row.has_same_pixels for row in listed] == [True, True, None, False]
        assert (listed[3].sharpness, listed[3].size, listed[2].sharpness) == (0.5, 96, None)
        assert queries.counts(session, dataset_id) == DuplicateCounts(1, 1, 2)
        verdict_queries.add_verdicts(session, [(ids[2], 0), (ids[3], 0)], "drop", author="Ada")
    with store.reading() as session:
        # Two captions are undecided, but of one picture.
        assert queries.counts(session, dataset_id).open == 0
