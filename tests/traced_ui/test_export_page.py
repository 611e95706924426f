"""The export page follows its job to the end, whatever its outcome."""

from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest

from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import job_queries
from tests.datasets.folders import image_folder
from traced_ui.export import ExportPage


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    image_folder(tmp_path / "pairs", [{"file_name": "a.png", "caption": "A dog."}], ("a.png",))
    opened = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    opened.jobs.import_dataset(tmp_path / "pairs")
    yield opened
    opened.store.close()


@pytest.mark.parametrize(
    ("status", "message"),
    [("failed", "The disk is full."), ("cancelled", "Cancelled at 3 of 9.")],
)
def test_a_job_without_a_result_is_no_longer_followed(
    workspace: Workspace, status: str, message: str
) -> None:
    with workspace.store.writing() as session:
        job = job_queries.create_job(session, "export", 1)
        job_queries.update_job(session, job.id, status=status, message=message)
    shown, timer, card = ExportPage(workspace).watch(job.id)
    assert message in shown
    assert isinstance(timer, gr.Timer)
    assert not timer.active
    assert card == gr.skip()
