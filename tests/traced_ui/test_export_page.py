"""The export page follows its job to the end, whatever its outcome."""

import gradio as gr
import pytest

from backend.workspace import Workspace
from db.queries import job_queries
from traced_ui.export import ExportPage


@pytest.mark.parametrize(
    ("status", "message"), [("failed", "The disk is full."), ("cancelled", "Cancelled at 3 of 9.")]
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
