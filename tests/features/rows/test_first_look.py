"""Right after an import, the first rows are looked at, before anything is scored."""

import json
import shutil
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from PIL import Image

from backend.bundled import DEMO
from backend.features.rows.page import last_report
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.cli.invoking import as_json, invoked
from traced_ui.dataset_jobs import DatasetJobs

PAIRS = 60


def write_source(folder: Path, by: int = 1, pairs: int = PAIRS) -> str:
    """The demo's first pictures with true captions, each with the one so many rows before."""
    rows = [json.loads(line) for line in (DEMO / "metadata.jsonl").open(encoding="utf-8")]
    truths = [json.loads(line) for line in (DEMO / "truth.jsonl").open(encoding="utf-8")]
    (folder / "pairs" / "images").mkdir(parents=True)
    lines = []
    for place, row in enumerate(rows[:pairs]):
        shutil.copy(DEMO / row["file_name"], folder / "pairs" / "images")
        caption = truths[(place - by) % pairs]["original"]
        lines.append(json.dumps({**row, "caption": caption}) + "\n")
    (folder / "pairs" / "metadata.jsonl").write_text("".join(lines), encoding="utf-8")
    return str(folder / "pairs")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}


def workspace_of(tmp_path: Path, **settings: Any) -> Workspace:
    return Workspace(load_settings({"data_directory": str(tmp_path / "state"), **settings}))


def import_in_background(workspace: Workspace, source: str, name: str = "pairs") -> int:
    job = workspace.jobs.start("import", None, path=source, name=name)
    assert workspace.jobs.background.wait(120)
    dataset_id: int = workspace.jobs.job(job).result["dataset_id"]
    return dataset_id


def test_the_command_says_it_before_scoring(environment: dict[str, str], tmp_path: Path) -> None:
    source = write_source(tmp_path)
    imported = as_json(environment, "import", source)
    rows = imported["first_look"][-1]
    assert len(as_json(environment, "progress", "pairs")["notices"]) == 1
    workspace = workspace_of(tmp_path)
    details = workspace.review.details_of(imported["dataset_id"], "rows")
    (finding,) = details["findings"]
    assert (details["is_first_look"], finding["kind"], finding["offset"]) == (True, "shifted", -1)
    # On a terminal it stands below what was imported.
    shutil.rmtree(tmp_path / "state")
    status, out, _ = invoked(environment, "import", source)
    assert status == 0
    assert rows.splitlines()[0] in out


def test_an_option_and_a_setting_skip_it(environment: dict[str, str], tmp_path: Path) -> None:
    source = write_source(tmp_path)
    assert as_json(environment, "import", source, "--no-first-look")["first_look"] == []
    assert as_json(environment, "progress", "pairs")["notices"] == []
    workspace = workspace_of(tmp_path, first_look=False)
    dataset_id = import_in_background(workspace, source)
    assert workspace.jobs.last("first-look", dataset_id) is None


def test_it_is_a_job_of_its_own_after_an_import_from_a_page(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    dataset_id = import_in_background(workspace, write_source(tmp_path))
    job = workspace.jobs.last("first-look", dataset_id)
    assert job is not None
    assert job.status == "done"
    assert (job.result["compared"], job.result["model"]) == (PAIRS, "embedded")
    (notice,) = workspace.review.notices(dataset_id)
    assert notice.page == "rows"


def test_right_rows_are_no_finding_and_no_notice(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    dataset_id = workspace.find_or_import(write_source(tmp_path, by=0))
    report = workspace.jobs.run("first-look", dataset_id)
    assert (report.findings, report.reasons, report.compared) == ((), (), PAIRS)
    assert workspace.review.notices(dataset_id) == ()


def test_no_more_rows_are_looked_at_than_it_may(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    dataset_id = workspace.find_or_import(write_source(tmp_path))
    report = workspace.jobs.run("first-look", dataset_id, rows=50)
    assert (report.pairs, report.compared) == (PAIRS, 50)
    assert [finding.kind for finding in report.findings] == ["shifted"]


def test_pictures_that_no_model_here_knows_are_not_compared(tmp_path: Path) -> None:
    source = write_source(tmp_path)
    rng = np.random.default_rng(0)
    for path in Path(source, "images").iterdir():
        Image.fromarray(rng.integers(0, 255, (64, 64, 3), np.uint8)).save(path)
    workspace = workspace_of(tmp_path)
    dataset_id = workspace.find_or_import(source)
    report = workspace.jobs.run("first-look", dataset_id)
    assert (report.findings, report.compared) == ((), 0)
    assert report.reasons
    assert not workspace.review.details_of(dataset_id, "rows")["looked"]


def test_pictures_that_are_gone_are_no_failure(tmp_path: Path) -> None:
    source = write_source(tmp_path)
    workspace = workspace_of(tmp_path)
    dataset_id = workspace.find_or_import(source)
    shutil.rmtree(Path(source, "images"))
    report = workspace.jobs.run("first-look", dataset_id)
    assert (report.findings, report.compared) == ((), 0)
    assert report.reasons


def test_once_scored_the_look_of_scoring_counts(tmp_path: Path) -> None:
    workspace = workspace_of(
        tmp_path, trajectories="first-step", captioner="none", detector="eight signs"
    )
    source = write_source(tmp_path)
    dataset_id = import_in_background(workspace, source)
    workspace.jobs.run("score", dataset_id, suggestions=False)
    assert not workspace.review.details_of(dataset_id, "rows")["is_first_look"]
    shown = last_report(workspace, dataset_id)
    assert shown is not None
    assert shown.can_mend
    before = workspace.jobs.last("first-look", dataset_id)
    import_in_background(workspace, source)
    assert workspace.jobs.last("first-look", dataset_id) == before
    report = workspace.jobs.run("first-look", dataset_id)
    assert (report.compared, len(report.reasons)) == (0, 1)
    assert not workspace.review.details_of(dataset_id, "rows")["is_first_look"]


def test_few_rows_are_not_looked_at(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    dataset_id = import_in_background(workspace, write_source(tmp_path, pairs=49))
    assert workspace.jobs.last("first-look", dataset_id) is None


def test_the_page_that_imports_shows_it(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path)
    dataset_id = import_in_background(workspace, write_source(tmp_path))
    html, timer = DatasetJobs(workspace).first_look(dataset_id, gr.Request(username=None))
    assert 'data-page="rows"' in html
    assert not timer.active
    right = import_in_background(workspace, write_source(tmp_path / "b", by=0), "right")
    html, _ = DatasetJobs(workspace).first_look(right, gr.Request(username=None))
    assert 'class="hint first-look"' in html
    report = last_report(workspace, dataset_id)
    assert report is not None
    assert report.moves == PAIRS - 1
    assert not report.can_mend
