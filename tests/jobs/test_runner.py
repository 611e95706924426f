"""Jobs run in parallel or, if they share a resource, in order; they are cancelled and retried."""

import threading
from pathlib import Path
from typing import Any

import pytest

from backend.errors import NotFound, SettingsError, TracedError
from backend.jobs.runner import MOST_AT_ONCE, JobRunner
from backend.progress import Progress
from backend.workspace import Workspace
from db.queries import job_queries
from tests.fixtures.programs import run

PATIENCE = 200
MODELS = frozenset({"models"})


@pytest.fixture
def runner(workspace: Workspace) -> JobRunner:
    return workspace.jobs.background


class Work:
    """A job that advances one step whenever the test allows it."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.steps = threading.Event(), threading.Event(), 0

    def __call__(self, progress: Progress) -> dict[str, Any]:
        self.begun.set()
        while not self.go_on.wait(0.01):
            self.steps += 1
            # Reported to the runner as the last step, which is always written, never throttled.
            progress(self.steps, self.steps, "Working")
        return {"steps": self.steps}


def test_jobs_that_share_nothing_run_at_once(runner: JobRunner) -> None:
    scoring, importing = Work(), Work()
    runner.start("score", None, scoring, uses=MODELS)
    runner.start("import", None, importing)
    assert scoring.begun.wait(PATIENCE)
    assert importing.begun.wait(PATIENCE), "while the other is still running"
    scoring.go_on.set()
    importing.go_on.set()
    assert runner.wait(PATIENCE)


def test_jobs_that_share_the_models_run_in_order(runner: JobRunner, workspace: Workspace) -> None:
    works = [Work(), Work(), Work()]
    ids = [runner.start("score", None, work, uses=MODELS) for work in works]
    for index, work in enumerate(works):
        assert work.begun.wait(PATIENCE)
        statuses = [workspace.jobs.job(job).status for job in ids]
        assert statuses == ["done"] * index + ["running"] + ["queued"] * (2 - index)
        work.go_on.set()
    assert runner.wait(PATIENCE)
    assert [workspace.jobs.job(job).status for job in ids] == ["done"] * 3


def test_a_waiting_job_is_not_overtaken_by_one_with_the_same_needs(runner: JobRunner) -> None:
    first, both, models = Work(), Work(), Work()
    runner.start("a", None, first, uses=frozenset({"dataset"}))
    runner.start("b", None, both, uses=frozenset({"dataset", "models"}))
    runner.start("c", None, models, uses=MODELS)
    assert first.begun.wait(PATIENCE)
    assert not models.begun.is_set()
    first.go_on.set()
    assert both.begun.wait(PATIENCE)
    assert not models.begun.is_set()
    both.go_on.set()
    assert models.begun.wait(PATIENCE)
    models.go_on.set()
    assert runner.wait(PATIENCE)


def test_the_number_of_running_jobs_is_limited(runner: JobRunner, workspace: Workspace) -> None:
    works = [Work() for _ in range(MOST_AT_ONCE + 1)]
    ids = [runner.start("import", None, work) for work in works]
    for work in works[:-1]:
        assert work.begun.wait(PATIENCE)
    assert workspace.jobs.job(ids[-1]).status == "queued"
    for work in works:
        work.go_on.set()
    assert runner.wait(PATIENCE)
    assert workspace.jobs.job(ids[-1]).status == "done"


def test_a_running_job_is_cancelled_at_its_next_step(
    runner: JobRunner, workspace: Workspace
) -> None:
    work, behind = Work(), Work()
    behind.go_on.set()
    job = runner.start("score", None, work, {"path": "x"}, uses=MODELS)
    waiting = runner.start("score", None, behind, uses=MODELS)
    assert work.begun.wait(PATIENCE)
    workspace.jobs.cancel(job)
    assert runner.wait(PATIENCE)
    cancelled = workspace.jobs.job(job)
    assert cancelled.status == "cancelled"
    assert "Finished work is kept" in cancelled.message
    assert workspace.jobs.job(waiting).status == "done", "the next one has its turn"
    workspace.jobs.cancel(waiting)
    assert workspace.jobs.job(waiting).status == "done", "what is done stays done"


def test_a_waiting_job_is_cancelled_at_once(runner: JobRunner, workspace: Workspace) -> None:
    work, waiting = Work(), Work()
    runner.start("score", None, work, uses=MODELS)
    job = runner.start("score", None, waiting, uses=MODELS)
    workspace.jobs.cancel(job)
    assert workspace.jobs.job(job).status == "cancelled"
    work.go_on.set()
    assert runner.wait(PATIENCE)
    assert not waiting.begun.is_set()


def test_another_server_on_the_database_can_cancel(runner: JobRunner, workspace: Workspace) -> None:
    other = JobRunner(workspace.store)
    work = Work()
    job = runner.start("score", None, work)
    assert work.begun.wait(PATIENCE)
    other.cancel(job)
    assert runner.wait(PATIENCE)
    assert workspace.jobs.job(job).status == "cancelled"
    with pytest.raises(NotFound):
        other.cancel(job + 1)


def test_a_failed_job_does_not_affect_others(runner: JobRunner, workspace: Workspace) -> None:
    def fail(_: Progress) -> dict[str, Any]:
        raise SettingsError("There is no such column.")

    failed = runner.start("import", None, fail, uses=MODELS)
    work = Work()
    work.go_on.set()
    done = runner.start("import", None, work, uses=MODELS)
    assert runner.wait(PATIENCE)
    assert workspace.jobs.job(failed).status == "failed"
    assert "There is no such column." in workspace.jobs.job(failed).message
    assert workspace.jobs.job(done).status == "done"


@pytest.mark.parametrize("path", ["nowhere", "no\0where", "x" * 5000])
def test_a_mistyped_path_is_refused_before_anything_is_queued(
    workspace: Workspace, tmp_path: Path, path: str
) -> None:
    with pytest.raises(TracedError, match=r"Give a path that exists|is not a path"):
        workspace.jobs.start("import", None, path=str(tmp_path / path))
    assert workspace.jobs.recent() == []


def test_recent_jobs_include_the_newest_and_all_unfinished_ones(workspace: Workspace) -> None:
    with workspace.store.writing() as session:
        ids = [job_queries.create_job(session, "export").id for _ in range(6)]
        for job in ids[1:]:
            job_queries.update_job(session, job, status="done")

    def recent(limit: int) -> list[int]:
        return [job.id for job in workspace.jobs.recent(limit)]

    assert recent(2) == [ids[5], ids[4], ids[0]]
    assert recent(10) == ids[::-1]


def test_a_script_that_ends_while_a_job_runs_stops_it_and_has_its_own_status(
    tmp_path: Path,
) -> None:
    script = """
import sys, threading
from backend.jobs.runner import JobRunner, Stopped
from backend.settings import load_settings
from backend.store import open_database

begun = threading.Event()

def work(progress):
    try:
        while True:
            progress(0, 1, "Working")
            begun.set()
    except Stopped:
        print("stopped")
        raise

JobRunner(open_database(load_settings().database_url)).start("score", None, work)
begun.wait()
sys.exit(3)
"""
    status, out, err = run(["-c", script], {"TRACED_DATA_DIRECTORY": str(tmp_path)})
    assert (status, out) == (3, "stopped\n"), err
