"""Noisy copies are scored once, however often training is restarted."""

from pathlib import Path

import numpy as np
import pytest

from backend.engine.trajectories.trajectory import Trajectory
from backend.jobs.noisy_copies import TrajectoryCache
from backend.jobs.stored_trajectories import exploring_of
from backend.jobs.workers import Workers
from backend.loaded_models import Engine
from backend.workspace import Workspace
from db.queries import pairs, runs
from research.scenes import demo
from tests.faults.scenarios import workspace
from tests.fixtures.sizes import Sizes


@pytest.fixture
def scored(tmp_path: Path) -> tuple[Workspace, int]:
    demo.write(tmp_path / "pairs", 16, 0, 64, seed=4)
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
    scored: tuple[Workspace, int], monkeypatch: pytest.MonkeyPatch, sizes: Sizes
) -> None:
    opened, dataset = scored
    sizes(BATCH=4)
    with opened.store.reading() as session:
        run = runs.latest_run(session, dataset, "score")
        stored = list(pairs.iterate_pairs(session, dataset))
    assert run is not None
    texts: list[str] = []
    plain = Engine.trajectories

    def killed_at_the_third(self: Engine, wanted, keys, exploring):  # pyrefly: ignore[implicit-any-parameter, unannotated-return]
        texts.extend(text for _, text in wanted)
        if len(texts) > 8:
            raise KeyboardInterrupt
        return plain(self, wanted, keys, exploring)

    def cache() -> TrajectoryCache:
        keyed = [(pair.id, pair.image_path) for pair in stored]
        root = (
            Path(opened.summary(dataset).root) if hasattr(opened.summary(dataset), "root") else None
        )
        assert root is not None
        workers = Workers(opened.engine, root)
        return TrajectoryCache(opened.store, run.id, workers, keyed, exploring_of(run))

    requests = [(i, f"A copy, number {i}, of: {pair.caption}") for i, pair in enumerate(stored)]
    requests += requests[:2]  # one caption requested twice
    with monkeypatch.context() as patch:
        patch.setattr(Engine, "trajectories", killed_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            cache().score(requests)
        texts.clear()
        again: list[str] = []

        def counted(self: Engine, wanted, keys, exploring):  # pyrefly: ignore[implicit-any-parameter, unannotated-return]
            again.extend(text for _, text in wanted)
            return plain(self, wanted, keys, exploring)

        patch.setattr(Engine, "trajectories", counted)
        first = cache().score(requests)
        assert again == [text for _, text in requests[8:16]]
        second = cache().score(requests)
        assert len(again) == 8
    assert [trajectory.caption.text for trajectory in first] == [text for _, text in requests]
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    opened.store.close()
