"""Full and read-only disks: real ones, small enough to fill quickly."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from backend.engine.detection.classifier import Calibration, Classifier
from backend.engine.detection.families import S_0
from backend.engine.detection.features import NAMES
from backend.errors import ExportError, StoreError, explain
from backend.jobs.export_choice import ExportChoice
from backend.jobs.retrain import RENEWED
from backend.settings import load_settings
from backend.workspace import Workspace
from db import open_store
from db.errors import StoreProblem
from db.queries import classifier_queries, pair_queries, run_queries, verdict_acts
from research.bench.generated_store import generate
from research.scenes import demo
from tests.db.building import write_oldest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two mebibytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)], check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Use up the remaining space."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
    return ballast


def add_classifier(workspace: Workspace, weight: float) -> int:
    """A classifier of the generated dataset, by the score of the whole caption alone."""
    features = np.random.default_rng(0).normal(size=(200, len(NAMES)))
    labels = (features[:, S_0.columns[0]] < 0).astype(np.int64)
    model = S_0.fit(features, labels, np.ones(len(labels)))
    with workspace.store.writing() as session:
        run = run_queries.latest_run(session, 1, "score")
        assert run is not None
        row = classifier_queries.add_classifier(
            session, 1, name=f"Weight {weight}", kind=model.kind, basis="verdicts",
            payload=Classifier(model, Calibration(weight, 0.0, 0.5)).to_bytes(),
            report={"run": run.id},
        )  # fmt: skip
    return row.id


def ranking(workspace: Workspace) -> tuple[int, list[float | None]]:
    """The classifier in use, and the probabilities that are shown."""
    with workspace.store.reading() as session:
        active = classifier_queries.active(session, 1)
        assert active is not None
        return active.id, [pair.p_error for pair in pair_queries.iterate_pairs(session, 1)]


def opened(state: Path) -> Workspace:
    return Workspace(load_settings({"data_directory": str(state), "author": "Ada"}, {}))


def test_an_export_onto_a_full_disk_leaves_nothing_and_works_with_room(
    disk: Path, tmp_path: Path
) -> None:
    demo.write(tmp_path / "pairs", 12, 0, 96, seed=1)
    workspace = opened(tmp_path / "state")
    dataset = workspace.jobs.import_dataset(tmp_path / "pairs").dataset_id
    ballast = fill(disk)
    with pytest.raises(ExportError, match=r"No space left.*Nothing was kept"):
        workspace.jobs.export(dataset, ExportChoice(), disk / "out", "imagefolder")
    assert [path.name for path in disk.iterdir()] == ["ballast"]
    ballast.unlink()
    report = workspace.jobs.export(dataset, ExportChoice(), disk / "out", "imagefolder")
    assert report.written == 12
    workspace.store.close()


def test_verdicts_on_a_full_disk_are_refused_without_losing_confirmed_ones(
    disk: Path, tmp_path: Path
) -> None:
    demo.write(tmp_path / "pairs", 12, 0, 96, seed=1)
    workspace = opened(disk / "state")
    dataset = workspace.jobs.import_dataset(tmp_path / "pairs").dataset_id
    with workspace.store.reading() as session:
        ids = [pair.id for pair in pair_queries.iterate_pairs(session, dataset)]
    ballast = fill(disk)
    confirmed = []
    message = ""
    for turn in range(400):
        pair_id = ids[turn % len(ids)]
        try:
            view = workspace.review.open_pair(pair_id)
            workspace.review.decide(
                pair_id, view.verdict.version, ("drop", "correct")[turn // len(ids) % 2]
            )
            confirmed.append(pair_id)
        except StoreError as problem:
            message = explain(problem)
            break
    assert "the disk is full" in message
    ballast.unlink()
    with workspace.store.reading() as session:
        acts = sum(len(verdict_acts.history(session, pair)) for pair in ids)
    assert acts == len(confirmed)
    view = workspace.review.open_pair(ids[0])
    assert workspace.review.decide(ids[0], view.verdict.version, "unsure").decision == "unsure"
    workspace.store.close()


def test_adopting_on_a_full_disk_keeps_the_classifier_in_use(disk: Path, tmp_path: Path) -> None:
    """The disk becomes full at many moments: each lets the adoption come some pages further."""
    prepared = opened(tmp_path / "state")
    generate(prepared.store, 200)
    first, second, third = (add_classifier(prepared, weight) for weight in (1.0, 0.3, 0.6))
    rankings = []
    for classifier in (second, third, first):  # the values of the second are nowhere left
        prepared.jobs.adopt(classifier)
        rankings.append(ranking(prepared))
    adopted, _, before = rankings
    assert before[1] != adopted[1]
    prepared.store.close()
    refused = 0
    for free in range(0, 400 << 10, 80 << 10):
        for leftover in disk.iterdir():
            shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
        shutil.copytree(tmp_path / "state", disk / "state")
        workspace = opened(disk / "state")
        assert ranking(workspace) == before
        ballast = fill(disk)
        os.truncate(ballast, max(0, ballast.stat().st_size - free))
        problem = problem_of_adopting(workspace, second)
        in_use = ranking(workspace)
        assert in_use in (before, adopted), "half adopted"
        again = opened(disk / "state")
        assert ranking(again) == in_use, "others see something else"
        again.store.close()
        refused += in_use == before
        if problem:
            assert "the disk is full" in problem
            ballast.unlink()
            workspace.jobs.adopt(second)
        assert ranking(workspace) == adopted
        report = workspace.store.read(classifier_queries.get_classifier, second).report
        assert report["suspects"] == RENEWED
        workspace.store.close()
    assert refused > 1


def problem_of_adopting(workspace: Workspace, classifier: int) -> str:
    try:
        workspace.jobs.adopt(classifier)
    except StoreError as problem:
        return explain(problem)
    return ""


def test_a_read_only_disk_is_reported(disk: Path, tmp_path: Path) -> None:
    demo.write(tmp_path / "pairs", 3, 0, 96, seed=1)
    workspace = opened(disk / "state")
    dataset = workspace.jobs.import_dataset(tmp_path / "pairs").dataset_id
    with workspace.store.reading() as session:
        (pair, *_) = [pair.id for pair in pair_queries.iterate_pairs(session, dataset)]
    workspace.store.close()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(StoreError) as refused:
        opened(disk / "state")
    assert "its disk is read-only" in explain(refused.value)
    assert "does not exist" not in explain(refused.value)
    with pytest.raises(StoreError, match="Read-only"):
        opened(disk / "another state")
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    again = opened(disk / "state")
    assert again.review.decide(pair, 0, "drop").decision == "drop"
    again.store.close()


def test_a_migration_on_a_full_disk_changes_nothing_and_works_with_room(disk: Path) -> None:
    path = disk / "traced.db"
    write_oldest(path)
    ballast = fill(disk)
    with pytest.raises(StoreProblem, match="disk is full"):
        open_store(f"sqlite:///{path}")
    ballast.unlink()
    store = open_store(f"sqlite:///{path}")
    assert store.upgraded_from is not None
    with store.reading() as session:
        rows = list(pair_queries.iterate_pairs(session, 1))
        acts = sum(len(verdict_acts.history(session, row.id)) for row in rows)
    assert acts == 10
    store.close()
