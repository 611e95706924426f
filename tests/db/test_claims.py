"""Captions of several claims: their trajectories, their numbers, and those of their pairs."""

from dataclasses import replace

import pytest

from db import Store
from db.queries import claim_queries, detection_queries, pair_queries, trajectory_queries
from db.queries.claim_queries import ClaimCounts, ClaimRow
from db.queries.detection_queries import DetectionRow
from db.queries.trajectory_queries import TrajectoryRow
from tests.db.building import add_dataset, save, start_run
from tests.db.test_scores import trajectory


def parts_of(pair_id: int, *spans: tuple[int, int]) -> list[TrajectoryRow]:
    return [
        replace(trajectory(pair_id, 3, seed=start), start=start, end=end) for start, end in spans
    ]


def claims_of(pair_id: int, *spans: tuple[int, int]) -> list[ClaimRow]:
    return [ClaimRow(pair_id, start, end, "sentence") for start, end in spans]


def test_a_caption_has_a_trajectory_for_each_claim(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 2)
    run_id = start_run(store, dataset_id)
    parts = parts_of(ids[0], (0, 5), (6, 14))
    save(store, run_id, *parts, trajectory(ids[1]))
    with store.reading() as session:
        stored = trajectory_queries.trajectories_of(session, run_id, ids)
        pair = pair_queries.get_pair(session, ids[0])
        drawn = trajectory_queries.draw_scored(session, run_id, dataset_id, 9)
    assert [(row.start, row.end) for row in stored[ids[0]]] == [(0, 5), (6, 14)]
    assert [row.end for row in stored[ids[1]]] == [None]
    assert drawn == ids
    assert pair.s_0 == min(float(row.scores[0]) for row in parts)
    assert pair.gain == max(trajectory_queries.gain_of(row) for row in parts)
    assert pair.words_read == sum(len(row.first_step_scores) for row in parts)


def test_a_caption_that_is_divided_otherwise_keeps_no_trajectory_of_before(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    run_id, other_run = start_run(store, dataset_id, "1"), start_run(store, dataset_id, "2")
    save(store, other_run, trajectory(pair_id))
    save(store, run_id, trajectory(pair_id))
    for spans in (((0, 5), (6, 14)), ((0, 9), (10, 14))):
        save(store, run_id, *parts_of(pair_id, *spans))
    with store.reading() as session:
        stored = trajectory_queries.trajectories_of(session, run_id, [pair_id])[pair_id]
        of_other = trajectory_queries.trajectories_of(session, other_run, [pair_id])[pair_id]
    assert [(row.start, row.end) for row in stored] == [(0, 9), (10, 14)]
    assert len(of_other) == 1


def test_pairs_are_counted_once_however_many_claims_they_have(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 2)
    run_id = start_run(store, dataset_id)
    first_steps = [replace(row, whole=False) for row in parts_of(ids[0], (0, 5), (6, 14))]
    save(store, run_id, *first_steps, trajectory(ids[1]))
    with store.reading() as session:
        assert trajectory_queries.count_first_steps(session, run_id) == 1
        lacking = trajectory_queries.lacking_steps(session, run_id, dataset_id)
        assert [pair for pair, _ in lacking] == ids[:1]
        assert trajectory_queries.count_unexpected(session, run_id, "one") == 2
        assert trajectory_queries.without_expectation(session, run_id, "one", 0, 9) == ids
        assert detection_queries.unjudged_pairs(session, run_id, 1, 0, 9) == ids
        assert (
            detection_queries.unjudged_pairs(session, run_id, 1, 0, 9, only_whole=True) == ids[1:]
        )


def test_claims_keep_their_numbers_while_they_stay_the_same(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 2)
    with store.writing() as session:
        claim_queries.save_claims(session, {ids[0]: claims_of(ids[0], (0, 5), (6, 14)), ids[1]: []})
        claim_queries.save_numbers(
            session,
            {(ids[0], 0): {"icc": 0.5, "p_error": 0.25}, (ids[0], 6): {"icc": 0.1, "p_error": 1.0}},
        )
        claim_queries.save_claims(session, {ids[0]: claims_of(ids[0], (0, 5), (6, 10), (11, 14))})
    with store.reading() as session:
        stored = claim_queries.claims_of(session, ids)
        counts = claim_queries.count_claims(session, dataset_id)
    assert [(row.start, row.end, row.icc, row.p_error) for row in stored[ids[0]]] == [
        (0, 5, 0.5, 0.25), (6, 10, None, None), (11, 14, None, None),
    ]  # fmt: skip
    assert ids[1] not in stored
    assert counts == ClaimCounts(several=1, claims=4, vague=0)


@pytest.mark.parametrize("numbers", [{"icc": float("nan")}, {"p_error": 1.5}])
def test_numbers_that_mean_nothing_are_refused(store: Store, numbers: dict[str, float]) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    with store.writing() as session:
        claim_queries.save_claims(session, {pair_id: claims_of(pair_id, (0, 5), (6, 14))})
    with store.writing() as session, pytest.raises(ValueError, match="must"):
        claim_queries.save_numbers(session, {(pair_id, 0): numbers})


def test_suspects_of_claims_are_stored_with_their_pair(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    run_id = start_run(store, dataset_id)
    row = DetectionRow(pair_id, 0.5, ((0, 5, 1.0), (6, 14, 0.0)), run_id)
    save(store, run_id, *parts_of(pair_id, (0, 5), (6, 14)))
    with store.writing() as session:
        detection_queries.save_detections(session, [row])
        assert trajectory_queries.is_all_judged(session, run_id)
