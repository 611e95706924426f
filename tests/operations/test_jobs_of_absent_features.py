"""Stored jobs whose operation is of a feature that is no longer there: seen by their starter and
operators, and said to be impossible when they are to run again."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.operations import workspace_jobs
from backend.operations.export import STARTER
from backend.workspace import Workspace
from db.queries import job_queries
from tests.jobs.opening import opened


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return opened(tmp_path / "state")


def stored_job(workspace: Workspace, status: str) -> int:
    """A job of Ada's whose result has verdicts."""
    result = {"verdict": "wrong", STARTER: "Ada"}
    with workspace.store.writing() as session:
        job = job_queries.create_job(session, "moods")
        job_queries.update_job(session, job.id, status=status, result=result)
    return job.id


def test_its_result_is_seen_by_who_started_it_and_operators_alone(workspace: Workspace) -> None:
    job = stored_job(workspace, "done")
    jobs = workspace.jobs
    assert "moods" not in workspace_jobs.OPERATIONS
    results = [each.job(job).result for each in (jobs, jobs.seen_by("Ada"), jobs.seen_by("Bea"))]
    assert [bool(result) for result in results] == [True, True, False]


def test_it_is_not_run_again_and_that_is_said(workspace: Workspace) -> None:
    job = stored_job(workspace, "failed")
    with pytest.raises(SettingsError, match="moods"):
        workspace.jobs.retry(job)
