"""The stored results of the engine: runs, trajectories, detections, concreteness, suggestions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from db import Store, open_store
from db.errors import MissingRow
from db.queries import (
    detection_queries,
    pair_queries,
    ranking_queries,
    run_queries,
    signal_queries,
    suggestion_queries,
    trajectory_queries,
)
from db.queries.detection_queries import DetectionRow
from db.queries.pair_queries import NewPair
from db.queries.suggestion_queries import NewSuggestion
from db.queries.trajectory_queries import TrajectoryRow
from tests.db.building import add_dataset, add_pairs, rows_of, save, set_probabilities, start_run


def trajectory(
    pair_id: int, words: int = 4, seed: int = 0, truncated: bool = False
) -> TrajectoryRow:
    random = np.random.default_rng([seed, pair_id])
    return TrajectoryRow(
        pair_id,
        random.normal(size=words + 1).astype(np.float32),
        random.uniform(size=words + 1).astype(np.float32),
        tuple(int(i) for i in random.permutation(words)),
        random.normal(size=words).astype(np.float32),
        truncated,
    )


def only(rows: list[TrajectoryRow]) -> TrajectoryRow:
    """The trajectory of a caption that is one claim."""
    (row,) = rows
    return row


def same(first: TrajectoryRow, other: TrajectoryRow) -> bool:
    if (first.auxiliary is None) != (other.auxiliary is None):
        return False
    arrays, others = (
        [row.scores, row.similarities, row.first_step_scores, *(row.auxiliary or ())]
        for row in (first, other)
    )
    return (
        (first.pair_id, first.removed, first.truncated, first.captions)
        == (other.pair_id, other.removed, other.truncated, other.captions)
    ) and all(np.array_equal(a, b) for a, b in zip(arrays, others, strict=True))


def test_a_trajectory_round_trips_exactly(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 4)
    run_id = start_run(store, dataset_id)
    long = trajectory(ids[1], 300, truncated=True)
    beside = (long.scores * np.float32(0.5), long.first_step_scores * np.float32(0.3))
    saved = [
        trajectory(ids[0], 12), replace(long, auxiliary=beside), trajectory(ids[2], 0),
        # Captions that cannot be rebuilt from words.
        replace(trajectory(ids[3], 4), captions=("a cat", "", "犬 🐕 ${7*6}", "a\x00b\nc")),
    ]  # fmt: skip
    save(store, run_id, *saved)
    with store.reading() as session:
        stored = trajectory_queries.trajectories_of(session, run_id, ids)
        for original, pair in zip(saved, rows_of(store, ids), strict=True):
            assert same(only(stored[pair.id]), original)
            assert same(only(trajectory_queries.get_trajectories(session, pair.id)), original)
            assert pair.s_0 == float(original.scores[0])
            assert pair.gain == pytest.approx(float(original.scores.max() - original.scores[0]))
            assert pair.words_read == len(original.first_step_scores)
            assert pair.truncated == original.truncated
    assert len(stored) == 4


def test_saving_again_overwrites_and_a_newer_run_comes_first(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    first_run, second_run = start_run(store, dataset_id, "1"), start_run(store, dataset_id, "2")
    first, again, second = (trajectory(pair_id, seed=seed) for seed in range(3))
    for run, row in ((first_run, first), (second_run, second), (first_run, again)):
        save(store, run, row)
    with store.reading() as session:
        assert same(only(trajectory_queries.get_trajectories(session, pair_id, first_run)), again)
        assert same(only(trajectory_queries.get_trajectories(session, pair_id)), second)
        assert trajectory_queries.get_trajectories(session, pair_id, 999) == []
        assert len(trajectory_queries.trajectories_of(session, first_run, [pair_id])) == 1


def test_scores_that_are_not_finite_are_refused(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 2)
    run_id = start_run(store, dataset_id)
    for scores in ([], [0.5, float("nan")], [float("inf")]):
        bad = TrajectoryRow(ids[1], np.array(scores), np.array(scores), (), np.array([]))
        with pytest.raises(ValueError, match="not finite"):
            save(store, run_id, trajectory(ids[0]), bad)
    with store.reading() as session:
        assert trajectory_queries.get_trajectories(session, ids[0]) == []


def test_a_run_is_identified_by_everything_that_determines_its_scores(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 0)
    run_id = start_run(store, dataset_id)
    wanted: dict[str, Any] = {
        "kind": "score", "dataset_id": dataset_id, "scorer_kind": "clip", "model": "some/model",
        "revision": "1", "explorer": "elimination", "parameters": {"batch": 8},
    }  # fmt: skip
    others: dict[str, Any] = {
        "kind": "train", "dataset_id": None, "scorer_kind": "blip-itm", "model": "other",
        "revision": "2", "explorer": "gcd", "parameters": {"batch": 9},
    }  # fmt: skip
    with store.reading() as session:
        run = run_queries.find_run(session, **wanted)
        assert run is not None
        assert (run.id, run.status, run.finished_at) == (run_id, "running", None)
        for name, other in others.items():
            assert run_queries.find_run(session, **(wanted | {name: other})) is None, name
        assert run_queries.find_run(session, **wanted, code_version="9.9") == run
    with store.writing() as session:
        assert run_queries.finish_run(session, run_id).finished_at is not None
    newer = start_run(store, dataset_id)
    with store.reading() as session:
        latest = run_queries.latest_run(session, dataset_id, "score")
        assert latest is not None
        assert latest.id == newer
        assert run_queries.latest_run(session, dataset_id, "train") is None
        assert run_queries.latest_runs(session, dataset_id, ("score", "train")) == {"score": latest}
        with pytest.raises(MissingRow):
            run_queries.get_run(session, 999)


def test_a_detection_sets_the_probability_of_its_pair(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 2)
    detection = DetectionRow(
        ids[0], 0.75, ((0, 5, 1.0), (6, 12, 0.0)), start_run(store, dataset_id)
    )
    with store.writing() as session:
        detection_queries.save_detections(session, [detection, DetectionRow(ids[1], None, ())])
        assert detection_queries.get_detection(session, ids[0]) == detection
        assert [pair_queries.get_pair(session, i).p_error for i in ids] == [0.75, None]
        later = DetectionRow(ids[0], 0.25, ())
        detection_queries.save_detections(session, [later])
        assert detection_queries.get_detection(session, ids[0]) == later
        ranking_queries.write_next(session, dataset_id, {ids[0]: 0.5})
        assert pair_queries.get_pair(session, ids[0]).p_error == 0.25
        ranking_queries.use_next(session, dataset_id)
        assert pair_queries.get_pair(session, ids[0]).p_error == 0.5
        for wrong in (1.1, -0.1, float("nan")):
            with pytest.raises(ValueError, match=r"\[0, 1\]"):
                detection_queries.save_detections(session, [DetectionRow(ids[0], wrong, ())])
            with pytest.raises(ValueError, match=r"\[0, 1\]"):
                ranking_queries.write_next(session, dataset_id, {ids[0]: wrong})
        detection_queries.save_detections(session, [])
        assert detection_queries.get_detection(session, 999) is None


def test_a_scored_pair_takes_less_than_two_and_a_half_kilobytes(tmp_path: Path) -> None:
    size, words = 3000, 12
    store = open_store(f"sqlite:///{tmp_path}/size.db")
    caption = "a man in a red jacket stands beside his brown dog on the beach"
    names = [f"{i:012d}.jpg" for i in range(size)]
    rows = [NewPair(name, f"images/{name}", caption, "train", "m.jsonl", i)
            for i, name in enumerate(names)]  # fmt: skip
    dataset_id, ids = add_pairs(store, "size", rows)
    run_id = start_run(store, dataset_id)
    save(store, run_id, *(trajectory(i, words) for i in ids))
    suspects = tuple((5 * i, 5 * i + 4, 0.5) for i in range(words))
    with store.writing() as session:
        judged = [DetectionRow(i, i / (2 * max(ids)), suspects, run_id) for i in ids]
        detection_queries.save_detections(session, judged)
        signal_queries.save_icc(session, {i: i / max(ids) for i in ids})
    store.close()
    assert (tmp_path / "size.db").stat().st_size / size < 2500


def test_training_pairs_are_sampled_by_picture(store: Store) -> None:
    rows = [NewPair(f"photo-{n}", f"{n // 3}.png", "a text") for n in range(60)]
    dataset_id, ids = add_pairs(store, "photos", rows)
    run_id = start_run(store, dataset_id)
    save(store, run_id, *(trajectory(i) for i in ids[:57]))
    with store.reading() as session:
        drawn, every, part = (
            trajectory_queries.draw_scored(session, run_id, dataset_id, most)
            for most in (20, 100, 2)
        )
    assert every == ids[:57]
    assert drawn == sorted(drawn)
    assert len(drawn) == 18  # six pictures; a seventh would not fit
    assert len({(pair_id - ids[0]) // 3 for pair_id in drawn}) == 6
    assert len(part) == 2
    assert len({(pair_id - ids[0]) // 3 for pair_id in part}) == 1


def test_a_first_step_is_distinguished_from_a_whole_trajectory_of_one_step(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    run_id = start_run(store, dataset_id)
    first = [replace(trajectory(pair_id, 1), whole=False) for pair_id in ids[:2]]
    save(store, run_id, *first, trajectory(ids[2], 1))
    set_probabilities(store, ids, [0.2, 0.4, 0.6])
    with store.reading() as session:
        stored = trajectory_queries.trajectories_of(session, run_id, ids)
        assert [only(stored[pair_id]).whole for pair_id in ids] == [False, False, True]
        assert trajectory_queries.count_first_steps(session, run_id) == 2

        def lacking(**which: Any) -> list[int]:
            listed = trajectory_queries.lacking_steps(session, run_id, dataset_id, **which)
            return [pair_id for pair_id, _ in listed]

        assert lacking() == ids[:2]
        assert lacking(top=2) == lacking(above=0.4) == lacking(among=ids[1:]) == ids[1:2]
        unjudged = detection_queries.unjudged_pairs(session, run_id, 7, 0, 9, only_whole=True)
        assert unjudged == ids[2:]
    whole = trajectory(ids[0], 5)
    save(store, run_id, whole)
    # A job that still has only the first step does not overwrite the later ones.
    save(store, run_id, first[0])
    with store.reading() as session:
        assert same(only(trajectory_queries.get_trajectories(session, ids[0])), whole)


def test_a_copys_first_step_is_replaced_only_by_its_whole_trajectory(store: Store) -> None:
    dataset_id, (pair_id,) = add_dataset(store, 1)
    run_id = start_run(store, dataset_id)
    whole, other = trajectory(pair_id, 5), trajectory(pair_id, 5, seed=1)
    for row in (replace(trajectory(pair_id, 1), whole=False), whole, other):
        with store.writing() as session:
            trajectory_queries.save_copies(session, run_id, ["A dog"], [row])
    with store.reading() as session:
        (stored,) = trajectory_queries.copies_of(session, run_id, [(pair_id, "A dog")]).values()
    assert same(stored, whole)


def test_pairs_without_a_trajectory_of_the_run_are_counted(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    add_dataset(store, 2, "others")
    first, second = start_run(store, dataset_id, "1"), start_run(store, dataset_id, "2")
    save(store, first, *(trajectory(i) for i in ids[:2]))
    with store.reading() as session:
        for run_id, left in ((first, 1), (second, 3), (0, 3)):
            assert pair_queries.count_unscored(session, dataset_id, run_id) == left
            assert len(list(pair_queries.unscored_by_image(session, dataset_id, run_id))) == left


def test_suggestions_are_sorted_best_first_and_keep_their_ids(store: Store) -> None:
    _, (pair_id,) = add_dataset(store, 1)
    long = "x" * 20_000
    new = [
        NewSuggestion(pair_id, "trajectory", "a dog", 0.1, 0.3),
        NewSuggestion(pair_id, "infill", "a dog", 0.1, 0.4, 0.9, 0.2),
        NewSuggestion(pair_id, "trajectory", long, 0.1, 0.2),
    ]
    with store.writing() as session:
        suggestion_queries.save_suggestions(session, new)
        offered = suggestion_queries.list_suggestions(session, pair_id)
        assert [(s.proposer, s.caption) for s in offered] == [
            ("infill", "a dog"), ("trajectory", "a dog"), ("trajectory", long),
        ]  # fmt: skip
        suggestion_queries.save_suggestions(session, [replace(new[0], s_after=0.9)])
        suggestion_queries.save_suggestions(session, [])
        best, *others = suggestion_queries.list_suggestions(session, pair_id)
        assert (best.id, best.s_after) == (offered[1].id, 0.9)
        assert len(others) == 2
        with pytest.raises(ValueError, match="finite"):
            suggestion_queries.save_suggestions(session, [replace(new[1], s_after=float("nan"))])
