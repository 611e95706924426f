"""If a program ends during a job, the next one reports and resumes it."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from backend.errors import SettingsError
from backend.operations.workspace_jobs import MOST_ATTEMPTS
from backend.progress import Progress
from backend.workspace import Workspace
from db.models import Job
from db.queries import job_queries
from tests.datasets.folders import malformed
from tests.jobs.opening import OpenWorkspace
from tests.jobs.test_runner import MODELS, PATIENCE, Work

ENDED = f"{socket.gethostname()}:{2**22 + 1}:ab"  # larger than any process id on Linux


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return malformed(tmp_path / "pairs")


def interrupted(
    workspace: Workspace, kind: str, dataset: int | None, attempts: int = 0, **arguments: Any
) -> int:
    """A job as a program that was killed leaves it. `arguments`: as JSON."""
    with workspace.store.writing() as session:
        job = job_queries.create_job(
            session, kind, dataset, arguments=arguments, attempts=attempts
        ).id
        job_queries.update_job(session, job, status="running", done=2, total=9)
        session.execute(update(Job).where(Job.id == job).values(owner=ENDED))
    return job


def test_an_import_resumes_with_its_arguments(
    workspace: Workspace, folder: Path, open_workspace: OpenWorkspace
) -> None:
    job = interrupted(workspace, "import", None, path=str(folder), name="mine")
    again = open_workspace()
    (message,) = again.jobs.resume()
    assert f"import (job {job}) was interrupted at 2 of 9" in message
    assert again.jobs.background.wait(250)
    (dataset,) = again.datasets()
    assert dataset.name == "mine"
    before, after = again.jobs.job(job), again.jobs.job(job + 1)
    assert before.status == "failed"
    assert f"Job {after.id} has taken it over." in before.message
    assert after.status == "done"
    assert after.result["name"] == "mine"
    assert open_workspace().jobs.resume() == [], "once"


def test_a_job_that_keeps_ending_the_program_is_not_restarted_forever(
    workspace: Workspace, folder: Path, open_workspace: OpenWorkspace
) -> None:
    interrupted(workspace, "import", None, attempts=MOST_ATTEMPTS, path=str(folder))
    again = open_workspace()
    (message,) = again.jobs.resume()
    assert "will not be started again" in message
    assert again.jobs.running() == []


def test_a_stopped_job_ends_at_its_next_step_and_is_resumed(
    workspace: Workspace, folder: Path, open_workspace: OpenWorkspace
) -> None:
    work, background = Work(), workspace.jobs.background
    given = {"path": str(folder)}
    ids = [background.start("import", None, work, given, uses=MODELS) for _ in range(2)]
    assert work.begun.wait(PATIENCE)
    assert background.stop(PATIENCE)
    assert [workspace.jobs.job(job_id).status for job_id in ids] == ["running", "queued"]
    with workspace.store.writing() as session:
        session.execute(update(Job).values(owner=ENDED))
    again = open_workspace()
    assert len(again.jobs.resume()) == 2
    assert again.jobs.background.wait(250)
    assert [again.jobs.job(job_id).status for job_id in (3, 4)] == ["done", "done"]


def test_what_fails_because_the_program_ends_is_no_failure(workspace: Workspace) -> None:
    go_on = threading.Event()

    def work(_: Progress) -> dict[str, Any]:
        go_on.wait(PATIENCE)
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    job = workspace.jobs.background.start("score", None, work)
    assert not workspace.jobs.background.stop(0)
    go_on.set()
    assert workspace.jobs.background.wait(PATIENCE)
    assert workspace.jobs.job(job).status == "running", "the next runner finds it interrupted"


def test_a_cancelled_job_is_retried_with_its_arguments(workspace: Workspace, folder: Path) -> None:
    work = Work()
    given = {"path": str(folder), "name": "mine"}
    job = workspace.jobs.background.start("import", None, work, given)
    assert work.begun.wait(PATIENCE)
    workspace.jobs.cancel(job)
    assert workspace.jobs.background.wait(PATIENCE)
    again = workspace.jobs.retry(job)
    assert workspace.jobs.background.wait(250)
    assert [dataset.name for dataset in workspace.datasets()] == ["mine"]
    assert workspace.jobs.job(again).subject == "mine"
    with pytest.raises(SettingsError):
        workspace.jobs.retry(again)
