"""Expectations: stored with trajectories and noisy copies and read together with them."""

import numpy as np
import pytest

from db import Store
from db.queries import trajectory_queries
from db.queries.trajectory_queries import ExpectationRow, digest, pack, unpack
from tests.db.building import add_dataset, save, start_run
from tests.db.test_scores import trajectory


def row(words: int, captioner: str = "one", alternatives: bool = True) -> ExpectationRow:
    log_p = -np.arange(words, dtype=np.float32)
    options = tuple((("cat", 0.612), ("犬", 0.2)) if i % 2 else () for i in range(words))
    return ExpectationRow(log_p, log_p * -0.5, options if alternatives else (), captioner)


def same(stored: ExpectationRow | None, other: ExpectationRow) -> bool:
    return (
        stored is not None
        and np.array_equal(stored.log_p, other.log_p)
        and np.array_equal(stored.distance, other.distance)
        and (stored.alternatives, stored.captioner) == (other.alternatives, other.captioner)
    )


@pytest.mark.parametrize("words", [0, 1, 12, 3000])
@pytest.mark.parametrize("alternatives", [True, False])
def test_packed_expectations_round_trip(words: int, alternatives: bool) -> None:
    original = row(words, alternatives=alternatives and words > 1)
    assert same(unpack(pack(original), "one"), original)
    assert unpack(None, "one") is None


def test_expectations_are_read_with_trajectories_and_can_be_replaced(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    run_id = start_run(store, dataset_id)
    save(store, run_id, *map(trajectory, ids))
    with store.writing() as session:
        rows = {(ids[0], 0): row(4), (ids[1], 0): row(2)}
        trajectory_queries.save_expectations(session, run_id, rows)
        trajectory_queries.save_expectations(session, run_id, {})
    with store.reading() as session:
        stored = trajectory_queries.trajectories_of(session, run_id, ids)
        assert same(stored[ids[0]][0].expectation, row(4))
        assert stored[ids[2]][0].expectation is None
        (stored_alone,) = trajectory_queries.get_trajectories(session, ids[1])
        assert same(stored_alone.expectation, row(2))
        assert trajectory_queries.without_expectation(session, run_id, "one", 0, 9) == [ids[2]]
        assert trajectory_queries.without_expectation(session, run_id, "another", 0, 2) == ids[:2]
        assert (
            trajectory_queries.without_expectation(session, run_id, "another", ids[1], 2) == ids[2:]
        )
        counted = [
            trajectory_queries.count_unexpected(session, run_id, by) for by in ("one", "another")
        ]
        assert counted == [1, len(ids)]
    save(store, run_id, trajectory(ids[0], seed=2))  # keeps its expectation
    with store.writing() as session:
        trajectory_queries.save_expectations(session, run_id, {(ids[1], 0): row(3, "another")})
    with store.reading() as session:
        stored = trajectory_queries.trajectories_of(session, run_id, ids)
        assert same(stored[ids[0]][0].expectation, row(4))
        assert same(stored[ids[1]][0].expectation, row(3, "another"))


def test_noisy_copies_have_expectations(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    run_id = start_run(store, dataset_id)
    texts = ["a copy", "another copy"]
    with store.writing() as session:
        trajectory_queries.save_copies(session, run_id, texts, [trajectory(pair_id)] * 2)
        trajectory_queries.save_copy_expectations(
            session, run_id, {(pair_id, digest(texts[1])): row(2, alternatives=False)}
        )
    with store.reading() as session:
        copies = trajectory_queries.copies_of(session, run_id, [(pair_id, text) for text in texts])
    assert copies[pair_id, texts[0]].expectation is None
    assert same(copies[pair_id, texts[1]].expectation, row(2, alternatives=False))


def test_values_that_are_not_finite_are_not_stored(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 2)
    run_id = start_run(store, dataset_id)
    save(store, run_id, *map(trajectory, ids))
    bad = ExpectationRow(np.array([np.nan], np.float32), np.zeros(1, np.float32), (), "one")
    with store.writing() as session, pytest.raises(ValueError, match="not finite"):
        trajectory_queries.save_expectations(
            session, run_id, {(ids[0], 0): row(4), (ids[1], 0): bad}
        )
    with store.reading() as session:
        assert trajectory_queries.without_expectation(session, run_id, "one", 0, 9) == ids
