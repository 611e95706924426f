"""Estimates of the cost of scoring: pairs, copies, time, disk and memory."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backend.errors import SettingsError
from backend.jobs.scoring.detect import copies_of
from backend.jobs.scoring.score_dataset import seconds_of
from backend.jobs.scoring.stage import BatchStage, Stage, TextStage
from backend.jobs.scoring.suggest import USUAL_SHARE
from backend.jobs.scoring.workers import Devices
from backend.progress import Pace, Progress, Step
from backend.workspace import Workspace
from db.queries import run_queries
from research.scenes import demo
from research.scenes.long_captions import paragraphs
from research.scenes.renderer import render
from tests.fixtures.sizes import Sizes

#: More pairs than an estimate measures in these tests.
PAIRS, MEASURED = 16, 8


def test_an_estimate_is_close_to_the_cost_of_scoring(
    workspace: Workspace, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(PAIRS=MEASURED, MEASURED_FROM=PAIRS)
    demo.write(tmp_path / "pairs", PAIRS, 4, 64, seed=3)
    dataset = workspace.find_or_import(str(tmp_path / "pairs"))
    planned = workspace.jobs.estimate(dataset)
    assert (planned.pairs, planned.measured, planned.processes) == (PAIRS, MEASURED, 1)
    assert planned.copies == copies_of(PAIRS)
    assert planned.suggestions == round(USUAL_SHARE * PAIRS)
    assert planned.training_seconds > 0
    assert "processes" not in planned.in_words()
    two = workspace.jobs.estimate(dataset, suggestions=False, devices=Devices(("cpu", "cpu")))
    assert (two.suggestions, two.suggestions_seconds) == (0, 0)
    assert two.memory > 1.5 * planned.memory
    assert f"{PAIRS} pairs on cpu (2 processes), measured on {MEASURED}" in two.in_words()
    with workspace.store.reading() as session:
        assert run_queries.latest_run(session, dataset, "score") is None  # nothing was stored
    pace, steps = Pace(), list[Step]()

    def report_progress(done: int, total: int, stage: str) -> None:
        steps.append(pace.step(done, total, stage, 0.0))

    report = workspace.jobs.score(dataset, report_progress)
    # Scoring measures as well, and gives the time left of all stages from the start.
    running = [step for step in steps if step.share is not None]
    assert len({step.stage for step in running}) > 5
    left = [step.seconds_left or 0 for step in running]
    assert left == sorted(left, reverse=True)
    assert (left[0] > 0, left[-1]) == (True, 0)
    assert [step.share for step in running] == sorted(step.share or 0 for step in running)
    assert planned.copies == pytest.approx(report.detector["noisy_copies"], rel=0.3)
    with pytest.raises(SettingsError, match="scored with this model already"):
        workspace.jobs.estimate(dataset)
    # With a detector there is less to do.
    demo.write(tmp_path / "pairs", PAIRS + 6, 4, 64, seed=9)
    workspace.jobs.import_dataset(tmp_path / "pairs")
    later = workspace.jobs.estimate(dataset)
    assert later.pairs > 0
    assert (later.copies, later.copies_seconds, later.training_seconds) == (0, 0, 0)


def test_an_estimate_counts_the_claims_of_long_captions(
    workspace: Workspace, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(PAIRS=MEASURED)
    folder = tmp_path / "pairs"
    folder.mkdir()
    rows = []
    for n, drawn in enumerate(paragraphs(PAIRS, 5, (4,), (0, 1), pronouns=0.0, vague=0.0)):
        render(drawn.scene, 64).save(folder / f"{n}.png")
        rows.append(json.dumps({"file_name": f"{n}.png", "caption": drawn.text}) + "\n")
    (folder / "metadata.jsonl").write_text("".join(rows), encoding="utf-8")
    dataset = workspace.find_or_import(str(folder))
    planned = workspace.jobs.estimate(dataset, suggestions=False)
    assert planned.copies == copies_of(4 * PAIRS)
    undivided = Workspace(replace(workspace.settings, claims="whole"))
    as_one = undivided.jobs.estimate(dataset, suggestions=False)
    undivided.store.close()
    assert as_one.copies == copies_of(PAIRS)
    assert as_one.disk < planned.disk


@pytest.mark.parametrize(("is_shared", "seconds"), [(True, 5.0), (False, 10.0)])
def test_processes_divide_the_stages_that_they_share(is_shared: bool, seconds: float) -> None:
    class OneSecondEach(Stage):
        def remaining(self) -> int:
            return 10

        def seconds(self, sample: Any) -> float:
            return 1.0

        def do(self, progress: Progress) -> None:
            progress(10, 10, "")

    OneSecondEach.is_shared = is_shared
    nothing: Any = None
    assert seconds_of(OneSecondEach(nothing), 10, nothing, 2) == seconds
    assert (BatchStage.is_shared, TextStage.is_shared) == (True, False)
