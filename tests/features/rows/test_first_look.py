"""Right after an import, the first rows are looked at, before anything is scored."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import numpy as np
import pytest
from PIL import Image

from backend.features.rows.page import last_report
from backend.operations.registry import OPERATIONS
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.cli.invoking import as_json, invoked
from tests.fixtures.demo import demo_pairs, true_captions
from traced_ui.dataset_jobs import DatasetJobs

PAIRS = 60


def write_source(folder: Path, by: int = 1, pairs: int = PAIRS) -> str:
    """The demo's first pictures with true captions, each with the one so many rows before."""
    truths = true_captions(pairs)
    captions = [truths[(place - by) % pairs] for place in range(pairs)]
    return str(demo_pairs(folder / "pairs", captions))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Sixty rows, one row off."""
    return write_source(tmp_path_factory.mktemp("shifted"))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """One for all tests, which loads its model once."""
    opened = open_in(
        tmp_path_factory.mktemp("state"), trajectories="first-step", captioner="none",
        detector="eight signs",
    )  # fmt: skip
    yield opened
    opened.store.close()


def open_in(state: Path, **settings: Any) -> Workspace:
    return Workspace(load_settings({"data_directory": str(state), **settings}))


def import_in_background(workspace: Workspace, source: str, name: str = "pairs") -> int:
    job = workspace.jobs.start("import", None, path=source, name=name)
    assert workspace.jobs.background.wait(120)
    dataset_id: int = workspace.jobs.job(job).result["dataset_id"]
    return dataset_id


@pytest.fixture(scope="module")
def shifted(workspace: Workspace, source: str) -> int:
    """The dataset, imported from a page."""
    return import_in_background(workspace, source)


def test_the_command_says_it_before_scoring(source: str, tmp_path: Path) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path), "COLUMNS": "200"}
    status, out, _ = invoked(environment, "import", source)
    assert status == 0
    assert len(as_json(environment, "progress", "pairs")["notices"]) == 1
    workspace = open_in(tmp_path)
    details = workspace.review.details_of(1, "rows")
    (finding,) = details["findings"]
    assert (details["is_first_look"], finding["kind"], finding["offset"]) == (True, "shifted", -1)
    report = last_report(workspace, 1)
    assert report is not None
    assert report.in_words().splitlines()[0] in out
    workspace.store.close()


def test_it_is_left_out_if_it_is_not_wanted_or_rows_are_few(source: str, tmp_path: Path) -> None:
    workspace = open_in(tmp_path / "setting", first_look=False)
    dataset_id = import_in_background(workspace, source)
    assert workspace.jobs.last("first-look", dataset_id) is None
    workspace.store.close()
    environment = {"TRACED_DATA_DIRECTORY": str(tmp_path / "state")}
    assert as_json(environment, "import", source, "--no-first-look")["first_look"] == []
    assert as_json(environment, "progress", "pairs")["notices"] == []
    few = write_source(tmp_path / "few", pairs=49)
    looks = as_json(environment, "import", few, "--name", "few")["first_look"]
    after_any_import = [each for each in OPERATIONS.values() if each.after_import is not None]
    assert len(looks) == len(after_any_import)


def test_it_is_a_job_of_its_own_and_the_page_that_imports_shows_it(
    workspace: Workspace, shifted: int
) -> None:
    job = workspace.jobs.last("first-look", shifted)
    assert job is not None
    assert job.status == "done"
    assert (job.result["compared"], job.result["model"]) == (PAIRS, "embedded")
    (notice,) = workspace.review.notices(shifted)
    assert notice.page == "rows"
    html, timer = DatasetJobs(workspace).first_look(shifted, gr.Request(username=None))
    assert 'data-page="rows"' in html
    assert not timer.active
    report = last_report(workspace, shifted)
    assert report is not None
    assert report.moves == PAIRS - 1
    assert not report.can_mend


def test_right_rows_are_no_finding_and_no_notice(workspace: Workspace, tmp_path: Path) -> None:
    right = import_in_background(workspace, write_source(tmp_path, by=0), "right")
    result = workspace.jobs.last_result("first-look", right)
    assert (result["findings"], result["reasons"], result["compared"]) == ([], [], PAIRS)
    assert workspace.review.notices(right) == ()
    html, _ = DatasetJobs(workspace).first_look(right, gr.Request(username=None))
    assert 'class="hint first-look"' in html


def test_no_more_rows_are_looked_at_than_it_may(workspace: Workspace, shifted: int) -> None:
    report = workspace.jobs.run("first-look", shifted, rows=50)
    assert (report.pairs, report.compared) == (PAIRS, 50)
    assert [finding.kind for finding in report.findings] == ["shifted"]


def test_pictures_that_no_model_here_knows_are_not_compared(
    workspace: Workspace, tmp_path: Path
) -> None:
    source = write_source(tmp_path)
    rng = np.random.default_rng(0)
    for path in Path(source, "images").iterdir():
        Image.fromarray(rng.integers(0, 255, (64, 64, 3), np.uint8)).save(path)
    dataset_id = import_in_background(workspace, source, "noise")
    result = workspace.jobs.last_result("first-look", dataset_id)
    assert (result["findings"], result["compared"]) == ([], 0)
    assert result["reasons"]
    assert not workspace.review.details_of(dataset_id, "rows")["looked"]


def test_pictures_that_are_gone_are_no_failure(workspace: Workspace, tmp_path: Path) -> None:
    source = write_source(tmp_path)
    dataset_id = workspace.jobs.import_dataset(source, "gone").dataset_id
    shutil.rmtree(Path(source, "images"))
    report = workspace.jobs.run("first-look", dataset_id)
    assert (report.findings, report.compared) == ((), 0)
    assert report.reasons


def test_once_scored_the_look_of_scoring_counts(
    workspace: Workspace, shifted: int, source: str
) -> None:
    workspace.jobs.run("score", shifted, suggestions=False)
    assert not workspace.review.details_of(shifted, "rows")["is_first_look"]
    shown = last_report(workspace, shifted)
    assert shown is not None
    assert shown.can_mend
    before = workspace.jobs.last("first-look", shifted)
    import_in_background(workspace, source)
    assert workspace.jobs.last("first-look", shifted) == before
    report = workspace.jobs.run("first-look", shifted)
    assert (report.compared, len(report.reasons)) == (0, 1)
    assert not workspace.review.details_of(shifted, "rows")["is_first_look"]
