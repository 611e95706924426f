"""Estimates of the cost of scoring: pairs, copies, time, disk and memory."""

from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from backend.cli.score import estimate_summary
from backend.errors import SettingsError, UnknownPictures
from backend.jobs import stage
from backend.jobs.detect import copies_of
from backend.jobs.suggest import USUAL_SHARE
from backend.jobs.workers import Devices
from backend.progress import StageMessage
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import runs as run_queries
from research.scenes import demo
from tests.datasets.folders import image_folder
from tests.fixtures.sizes import Sizes
from tests.research.scenes.other_pictures import generated

#: More pairs than an estimate measures in these tests.
PAIRS, MEASURED = 20, 12


@pytest.fixture(autouse=True)
def small_sample(sizes: Sizes) -> None:
    sizes(PAIRS=MEASURED)


def opened(folder: Path) -> Workspace:
    return Workspace(load_settings({"data_directory": str(folder / "state")}, {}))


def test_an_estimate_is_close_to_the_cost_of_scoring(tmp_path: Path, sizes: Sizes) -> None:
    sizes(MEASURED_FROM=PAIRS)
    demo.write(tmp_path / "pairs", PAIRS, 4, 96, seed=3)
    workspace = opened(tmp_path)
    dataset = workspace.find_or_import(str(tmp_path / "pairs"))
    planned = workspace.jobs.estimate(dataset)
    assert (planned.pairs, planned.measured) == (PAIRS, MEASURED)
    assert planned.copies == copies_of(PAIRS)
    with workspace.store.reading() as session:
        assert run_queries.latest_run(session, dataset, "score") is None  # nothing was stored
    assert planned.suggestions == round(USUAL_SHARE * PAIRS)
    ticks: list[str] = []
    report = workspace.jobs.score(dataset, lambda done, total, message: ticks.append(message))
    # Scoring measures as well, and gives the time left of all stages from the start.
    left = [tick for tick in ticks if isinstance(tick, StageMessage)]
    assert len({*left}) == len({tick.own_seconds + tick.later for tick in left}) > 5
    assert left[0].later > 0
    assert left[-1].later == 0
    assert planned.copies == pytest.approx(report.detector["noisy_copies"], rel=0.3)
    with pytest.raises(SettingsError, match="scored with this model already"):
        workspace.jobs.estimate(dataset)
    workspace.store.close()


def test_without_suggestions_and_with_a_detector_there_is_less_to_do(tmp_path: Path) -> None:
    demo.write(tmp_path / "pairs", 14, 0, 96, seed=3)
    workspace = opened(tmp_path)
    dataset = workspace.find_or_import(str(tmp_path / "pairs"))
    first = workspace.jobs.estimate(dataset, suggestions=False)
    assert (first.suggestions, first.suggestions_seconds) == (0, 0)
    assert first.training_seconds > 0
    workspace.jobs.score(dataset, suggestions=False)
    demo.write(tmp_path / "more", 20, 0, 96, seed=9)
    (tmp_path / "pairs").rename(tmp_path / "before")
    (tmp_path / "more").rename(tmp_path / "pairs")
    workspace.jobs.import_dataset(tmp_path / "pairs")
    later = workspace.jobs.estimate(dataset)
    assert later.pairs > 0
    assert (later.copies, later.copies_seconds, later.training_seconds) == (0, 0, 0)
    workspace.store.close()


def test_processes_divide_the_parallel_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.write(tmp_path / "pairs", 14, 0, 96, seed=3)
    workspace = opened(tmp_path)
    dataset = workspace.find_or_import(str(tmp_path / "pairs"))
    made = []
    for devices in (None, Devices(("cpu", "cpu"))):
        # A clock that advances by a second at every reading: both estimates measure the same costs.
        monkeypatch.setattr(stage, "time", SimpleNamespace(monotonic=count().__next__))
        made.append(workspace.jobs.estimate(dataset, suggestions=False, devices=devices))
    alone, two = made
    assert (alone.processes, two.processes) == (1, 2)
    for part in ("trajectories_seconds", "copies_seconds", "captioner_seconds"):
        assert getattr(alone, part) > 0
        assert getattr(two, part) == pytest.approx(getattr(alone, part) / 2)
    assert (two.texts_seconds, two.training_seconds) == (
        alone.texts_seconds,
        alone.training_seconds,
    )
    assert two.memory > 1.5 * alone.memory
    assert f"14 pairs on cpu (2 processes), measured on {MEASURED}" in estimate_summary(two)
    assert "processes" not in estimate_summary(alone)
    workspace.store.close()


def test_scoring_pictures_unknown_to_the_model_is_not_estimated(tmp_path: Path) -> None:
    rows = []
    folder = tmp_path / "photographs"
    folder.mkdir()
    for number, (kind, image) in enumerate(generated(8, 12)):
        image.save(folder / f"{number}.png")
        rows.append({"file_name": f"{number}.png", "caption": f"A {kind} of a holiday"})
    workspace = opened(tmp_path)
    dataset = workspace.find_or_import(str(image_folder(folder, rows, ())))
    with pytest.raises(UnknownPictures):
        workspace.jobs.estimate(dataset)
    assert workspace.jobs.estimate(dataset, anyway=True).pairs == 12
    workspace.store.close()
