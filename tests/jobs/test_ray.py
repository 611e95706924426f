"""Scoring with Ray gives the same scores as without, whatever happens to the workers."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from backend.errors import SettingsError
from backend.jobs.ray_cluster import Cluster
from backend.jobs.stored_trajectories import scored_batches
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from db.queries import runs
from research.scenes import demo
from tests.engine.trajectories.comparison import assert_same_trajectory
from tests.fixtures.sizes import Sizes
from tests.jobs.mortal_worker import MortalWorker

PAIRS = 18


@pytest.fixture(scope="module")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs to score, and one whose picture breaks after the import."""
    folder = tmp_path_factory.mktemp("ray") / "pairs"
    demo.write(folder, PAIRS, 0, 96, seed=6)
    return folder


def opened(state: Path, photographs: Path) -> tuple[Workspace, int]:
    workspace = Workspace(
        load_settings(
            {
                "data_directory": str(state), "model": str(MODELS / "scenes-blip-itm"),
                "detector": "logistic",
            },
            {},
        )
    )  # fmt: skip
    whole = sorted((photographs / "images").iterdir())[5]
    kept = whole.read_bytes()
    dataset = workspace.jobs.import_dataset(photographs).dataset_id
    whole.write_bytes(kept[:40])
    return workspace, dataset


def same(item: tuple[Workspace, int], other: tuple[Workspace, int]) -> None:
    both = []
    for workspace, dataset in (item, other):
        with workspace.store.reading() as session:
            run = runs.latest_run(session, dataset, "score")
        assert run is not None
        ((pairs, trajectories),) = scored_batches(workspace.store, run)
        both.append((pairs, trajectories))
    assert [pair.external_id for pair in both[0][0]] == [pair.external_id for pair in both[1][0]]
    assert len(both[0][0]) == PAIRS - 1
    for local, distant in zip(both[0][1], both[1][1], strict=True):
        assert_same_trajectory(distant, local, 1e-5)
    shown = [[pair.p_error for pair in pairs] for pairs, _ in both]
    np.testing.assert_allclose(np.array(shown[0], float), np.array(shown[1], float), atol=1e-3)


# Six processes import torch one after another: a minute, or several on a busy machine.
@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_workers_give_the_same_numbers_and_may_die(
    photographs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes
) -> None:
    whole = sorted((photographs / "images").iterdir())[5].read_bytes()
    local = opened(tmp_path / "local", photographs)
    report = local[0].jobs.score(local[1], suggestions=False)
    assert (report.scored, report.unreadable) == (PAIRS - 1, 1)
    sorted((photographs / "images").iterdir())[5].write_bytes(whole)

    sizes(BATCH=3)
    distant = opened(tmp_path / "distant", photographs)
    monkeypatch.setattr("backend.jobs.ray_cluster.ScoringWorker", MortalWorker)
    report = distant[0].jobs.score(distant[1], suggestions=False, cluster=Cluster(workers=2))
    died = {mark.name for mark in (tmp_path / "distant").glob("died-*")}
    assert died == {"died-loading", "died-scoring"}
    assert (report.scored, report.unreadable) == (PAIRS - 1, 1)
    same(local, distant)
    parts = sorted((tmp_path / "distant/ray").rglob("part-*.parquet"))
    ids = [row for part in parts for row in pq.read_table(part)["pair_id"].to_pylist()]
    assert len(ids) == len(set(ids)) == PAIRS
    (problem,) = [
        problem for problem in distant[0].problems(distant[1]) if problem.kind == "unreadable image"
    ]
    assert "scene-0005" in problem.message
    # Without the cluster: its scores are stored, and the unreadable picture is tried again.
    again = distant[0].jobs.score(distant[1], suggestions=False)
    assert (again.scored, again.unreadable) == (0, 1)
    for workspace, _ in (local, distant):
        workspace.store.close()


def test_an_unreachable_cluster_is_reported(photographs: Path, tmp_path: Path) -> None:
    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    dataset = workspace.jobs.import_dataset(photographs).dataset_id
    with pytest.raises(
        SettingsError,
        match=r"No response from a Ray cluster at "
        r"127\.0\.0\.1:1",
    ):
        workspace.jobs.score(dataset, suggestions=False, cluster=Cluster("127.0.0.1:1"))
    workspace.store.close()
