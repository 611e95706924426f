import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from db import Store
from db.column_types import now
from db.errors import MissingRow
from db.models import Job
from db.queries import job_queries
from tests.db.building import add_dataset

ROOT = Path(__file__).resolve().parents[2]


def test_a_job_reports_its_progress(store: Store) -> None:
    with store.writing() as session:
        job = job_queries.create_job(session, "score")
        assert (job.status, job.done, job.total, job.arguments) == ("queued", 0, 0, {})
        assert job_queries.running_jobs(session) == [job]
        job = job_queries.update_job(session, job.id, status="running", done=3, total=9)
        assert (job.status, job.done, job.total, job.message) == ("running", 3, 9, "")
        job_queries.update_job(session, job.id, status="done", result={"pairs": 9}, message="")
    with store.reading() as session:
        done = job_queries.get_job(session, job.id)
        assert (done.status, done.result, done.message) == ("done", {"pairs": 9}, "")
        assert done.updated_at >= done.created_at
        assert job_queries.running_jobs(session) == []
        with pytest.raises(MissingRow):
            job_queries.get_job(session, 99)


def test_the_latest_job_is_that_of_the_kind_and_dataset(store: Store) -> None:
    (first, _), (second, _) = (add_dataset(store, 1, name) for name in ("first", "second"))
    with store.writing() as session:
        assert job_queries.latest_job(session, "score", first) is None
        oldest = job_queries.create_job(session, "score", first)
        newest = job_queries.create_job(session, "score", first)
        job_queries.create_job(session, "train", first)
        job_queries.create_job(session, "score", second)
        assert job_queries.latest_job(session, "score", first) == newest
        older = job_queries.update_job(session, oldest.id, status="done")
        assert job_queries.latest_job(session, "score", first, "done") == older


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_a_different_identity() -> None:
    """Its jobs are not those of its parent process."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, job_queries.PROCESS.encode())
        os._exit(0)
    os.waitpid(child, 0)
    with open(reading) as stream:
        os.close(writing)
        host, number, key = stream.read().rsplit(":", 2)
    assert f"{host}:{os.getpid()}" == job_queries.PROCESS.rpartition(":")[0]
    assert number == str(child)
    assert key != job_queries.PROCESS.rpartition(":")[2]


def test_jobs_of_a_killed_program_are_reported_at_the_next_start(store: Store) -> None:
    url = store.engine.url.render_as_string(hide_password=False)
    program = """
import os, signal, sys
from db import open_store
from db.queries import job_queries as jobs
store = open_store(sys.argv[1])
with store.writing() as session:
    job = jobs.create_job(session, "score")
    jobs.update_job(session, job.id, status="running", done=40, total=100)
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program, url], cwd=ROOT, check=False)
    with store.writing() as session:
        mine = job_queries.create_job(session, "train")
        (stale,) = job_queries.fail_stale_jobs(session)
        assert job_queries.running_jobs(session) == [mine]
        assert job_queries.fail_stale_jobs(session) == []
    assert stale.status == "failed"
    assert "running at 40 of 100" in stale.message


def test_jobs_of_ended_processes_are_dead_and_of_other_machines_after_long_inactivity(
    store: Store,
) -> None:
    same_id = f"{job_queries.PROCESS.rpartition(':')[0]}:ab"  # which this process has got again
    for owner, silence, status in (
        (same_id, timedelta(), "failed"),
        ("elsewhere:1:ab", timedelta(), "queued"),
        ("elsewhere:1:ab", 2 * job_queries.SILENCE, "failed"),
        ("", 2 * job_queries.SILENCE, "failed"),
    ):
        with store.writing() as session:
            job = job_queries.create_job(session, "score")
            values = {"owner": owner, "updated_at": now() - silence}
            session.execute(update(Job).where(Job.id == job.id).values(values))
            job_queries.fail_stale_jobs(session)
            assert job_queries.get_job(session, job.id).status == status
