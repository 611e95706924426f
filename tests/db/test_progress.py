"""How much each curator decided, and up to which point queue and audit have no undecided pair."""

import pytest

from db import Store
from db.queries import plot_queries
from db.queries.pair_queries import random_key
from tests.db.building import add_dataset, decide, redo, set_probabilities, undo


def reached(store: Store, dataset_id: int) -> plot_queries.ReachedPoint:
    with store.reading() as session:
        return plot_queries.review_progress(session, dataset_id)


def test_the_reached_point_and_the_random_sample_follow_the_decisions(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 20)
    set_probabilities(store, ids, [i / 20 for i in range(19)] + [None])
    order = sorted(range(20), key=lambda i: random_key(dataset_id, f"photo-{i}"))
    assert reached(store, dataset_id) == plot_queries.ReachedPoint(0.9, 20, 0, 0, 0)
    for i in (18, 17, 16):  # the top of the queue
        decide(store, ids[i], "drop")
    now = reached(store, dataset_id)
    assert (now.point, now.below, now.errors_found) == (0.75, 17, 0)
    first = [i for i in order if i not in (16, 17, 18)][:4]
    for number, i in enumerate(first):
        decide(store, ids[i], ("drop", "correct", "unsure", "abstract")[number])
    now = reached(store, dataset_id)
    # Decided pairs before the first gap in the random order, below the point and not unsure.
    gap = next(i for i in order if i not in (16, 17, 18, *first))
    open_point = max(i / 20 for i in range(19) if i not in (16, 17, 18, *first))
    below = [i for i in range(20) if i == 19 or i / 20 <= open_point]
    drawn = [i for i in first if i in below and order.index(i) < order.index(gap)]
    assert now.point == open_point
    assert now.below == len(below)
    assert now.sample == len([i for i in drawn if i != first[2]])
    assert now.wrong_in_sample == len([i for i in drawn if i == first[0]])
    assert now.errors_found == len([i for i in first[:1] if i in below])


def test_random_keys_are_uniform() -> None:
    keys = [random_key(1, f"photo-{i}") for i in range(400)]
    assert len(set(keys)) == 400
    assert all(0 <= key < 1 for key in keys)
    assert abs(sum(keys) / 400 - 0.5) < 0.06
    assert abs(sum(keys[:200]) - sum(keys[200:])) < 25


def test_the_pace_counts_decisions_by_curator_and_day(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 6)
    _, (other, *_) = add_dataset(store, 1, "elsewhere")
    for i in ids[:3]:
        decide(store, i, "correct")
    decide(store, ids[3], "drop", "Ben")
    decide(store, other, "drop", "Ben")

    def pace() -> dict[str, int]:
        with store.reading() as session:
            paces = plot_queries.pace(session, dataset_id)
        assert all(len(day) == 10 and day[4] == "-" for _, day, _ in paces)
        return {author: verdicts for author, _, verdicts in paces}

    undo(store, dataset_id)  # neither an undo nor a redo is a decision
    redo(store, dataset_id)
    assert pace() == {"Ada": 3, "Ben": 1}
    with store.reading() as session:
        judged = [decision for *_, decision in plot_queries.decided_points(session, dataset_id)]
    assert sorted(judged) == ["correct", "correct", "correct", "drop"]
    undo(store, dataset_id)
    assert pace() == {"Ada": 2, "Ben": 1}


def test_no_point_remains_when_everything_is_decided(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    for i in ids:
        decide(store, i, "correct")
    assert reached(store, dataset_id) == plot_queries.ReachedPoint(None, 3, 0, 3, 0)


def test_chances_are_counted_by_split_and_tenth(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 5)
    set_probabilities(store, ids, [0.0, 0.1, 0.15, 1.0, None])
    with store.reading() as session:
        rows = plot_queries.chances(session, dataset_id)
    assert [(row.tenth, row.pairs) for row in rows] == [(0, 1), (1, 2), (9, 1)]
    assert rows[1].expected == pytest.approx(0.25)
