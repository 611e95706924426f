"""Noisy copies are scored once, however often training is restarted."""

from pathlib import Path

import numpy as np
import pytest

from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.scoring.noisy_copies import TrajectoryCache
from backend.jobs.scoring.stored_rows import exploring_of
from backend.jobs.scoring.workers import Workers
from backend.progress import Progress
from backend.workspace import Workspace
from research.scenes import demo
from tests.faults.scenarios import workspace
from tests.fixtures.interrupting import stop_at
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import pairs_of, scoring_of


@pytest.fixture
def scored(tmp_path: Path) -> tuple[Workspace, int]:
    demo.write(tmp_path / "pairs", 12, 0, 64, seed=4)
    opened = workspace(tmp_path)
    dataset = opened.jobs.import_dataset(tmp_path / "pairs").dataset_id
    opened.jobs.score(dataset, suggestions=False)
    return opened, dataset


def same(first: Trajectory, second: Trajectory) -> bool:
    return (
        first.caption == second.caption
        and first.removed == second.removed
        and np.array_equal(first.scores, second.scores)
        and np.array_equal(first.first_step_scores, second.first_step_scores)
    )


def test_copies_scored_before_a_kill_are_not_scored_again(
    scored: tuple[Workspace, int], sizes: Sizes
) -> None:
    opened, dataset = scored
    sizes(BATCH=4)
    run, stored = scoring_of(opened, dataset), pairs_of(opened, dataset)
    root = Path(opened.summary(dataset).root)
    requests = [(i, f"A copy, number {i}, of: {pair.caption}") for i, pair in enumerate(stored)]
    requests += requests[:2]  # one caption requested twice
    keyed = [(pair.id, pair.image_path) for pair in stored]
    reported: list[int] = []

    def score(progress: Progress) -> list[Trajectory]:
        reported.clear()
        workers = Workers(opened.engine, root)
        exploring = exploring_of(run)
        copies = TrajectoryCache(opened.store, run.id, workers, keyed, exploring, progress)
        return copies.score(requests)

    with pytest.raises(KeyboardInterrupt):
        score(stop_at(8))
    first = score(lambda done, total, message: reported.append(done))
    assert len(reported) == 1 + (len(stored) - 8) // 4, "the start, and each batch that is left"
    second = score(lambda done, total, message: reported.append(done))
    assert len(reported) == 1
    assert [trajectory.caption.text for trajectory in first] == [text for _, text in requests]
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    opened.store.close()
