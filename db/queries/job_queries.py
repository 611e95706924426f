"""Background jobs: their progress and results."""

import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import String, cast, delete, insert, select, update
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import Job
from db.processes import is_running
from db.queries.statements import columns_of, find_record, get_record, read_records

UNFINISHED = ("queued", "running")


def _identity() -> str:
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def _forget_after_fork() -> None:
    global PROCESS
    PROCESS = _identity()


#: Unique identity of this process: process ids are reused, above all in containers.
PROCESS = _identity()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)

#: A job on another machine, whose process cannot be checked, counts as dead if not updated for
#: this long.
SILENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class JobRow:
    """`status`: queued, running, done, failed or cancelled. `done` of `total` units; `step`: the
    fields of `backend.progress.Step`. `result`: the job's results once it is done; until then what
    is needed to restart it (see `arguments`). `message`, `failure`, `continued_by`: how it ended,
    if it is not done: in words, the kind of error, and the job that has taken it over."""

    id: int
    kind: str
    dataset_id: int | None
    status: str
    done: int
    total: int
    step: dict[str, Any]
    message: str
    failure: str
    continued_by: int | None
    result: dict[str, Any]
    owner: str
    created_at: datetime
    updated_at: datetime

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that the job was started with; empty once it is done."""
        return dict(self.result.get(_ARGUMENTS, {})) if self.status != "done" else {}

    @property
    def attempts(self) -> int:
        """How often the job was restarted after an interruption; 0 once it is done."""
        return int(self.result.get(_ATTEMPTS, 0)) if self.status != "done" else 0

    @property
    def is_cancelling(self) -> bool:
        """Whether the job has been cancelled but has not reached its next step yet."""
        return self.status in UNFINISHED and bool(self.result.get(_CANCEL))


_ARGUMENTS, _ATTEMPTS, _CANCEL = "arguments", "attempts", "cancel"
_COLUMNS = columns_of(Job, JobRow)


def create_job(
    session: Session,
    kind: str,
    dataset_id: int | None = None,
    arguments: Mapping[str, Any] | None = None,
    attempts: int = 0,
) -> JobRow:
    """A job of this process with the status 'queued'. `arguments`: JSON-serialisable, stored so
    that an interrupted job can be restarted."""
    stored_arguments = {_ARGUMENTS: dict(arguments or {}), _ATTEMPTS: attempts}
    job_id = session.execute(
        insert(Job)
        .values(
            kind=kind, dataset_id=dataset_id, status="queued", message="",
            result=stored_arguments, owner=PROCESS,
        )
        .returning(Job.id)
    ).scalar_one()  # fmt: skip
    return get_job(session, job_id)


def update_job(session: Session, job_id: int, **fields: Any) -> JobRow:
    """Update status, done, total, message or result. Raises `MissingRow`."""
    session.execute(update(Job).where(Job.id == job_id).values(**fields, updated_at=now()))
    return get_job(session, job_id)


def get_job(session: Session, job_id: int) -> JobRow:
    """Raises `MissingRow`."""
    query = select(*_COLUMNS).where(Job.id == job_id)
    return get_record(session, JobRow, query, f"There is no job {job_id}.")


def latest_job(
    session: Session, kind: str, dataset_id: int, status: str | None = None
) -> JobRow | None:
    """The newest job of this kind for the dataset. `status`: by default, whatever it is."""
    query = select(*_COLUMNS).where(Job.kind == kind, Job.dataset_id == dataset_id)
    if status is not None:
        query = query.where(Job.status == status)
    return find_record(session, JobRow, query.order_by(Job.id.desc()).limit(1))


def exports_of(session: Session, dataset_id: int, limit: int) -> list[JobRow]:
    """The newest exports of the dataset that are done, newest first."""
    query = select(*_COLUMNS).where(
        Job.kind == "export", Job.status == "done", Job.dataset_id == dataset_id
    )
    return read_records(session, JobRow, query.order_by(Job.id.desc()).limit(limit))


def last_export(session: Session, out: str) -> JobRow | None:
    """The newest export that was written to the folder `out`; its result has the folder."""
    place = cast(Job.result["out"].as_string(), String)
    query = select(*_COLUMNS).where(Job.kind == "export", Job.status == "done", place == out)
    return find_record(session, JobRow, query.order_by(Job.id.desc()).limit(1))


def running_jobs(session: Session) -> list[JobRow]:
    """Jobs that are queued or running, oldest first."""
    query = select(*_COLUMNS).where(Job.status.in_(UNFINISHED)).order_by(Job.id)
    return read_records(session, JobRow, query)


def recent_jobs(session: Session, limit: int) -> list[JobRow]:
    """The newest `limit` jobs and all unfinished ones, newest first."""
    unfinished = select(Job.id).where(Job.status.in_(UNFINISHED))
    newest = select(Job.id).order_by(Job.id.desc()).limit(limit)
    query = (
        select(*_COLUMNS).where(Job.id.in_(unfinished) | Job.id.in_(newest)).order_by(Job.id.desc())
    )
    return read_records(session, JobRow, query)


def request_cancel(session: Session, job_id: int) -> JobRow:
    """Ask the process that runs the job to cancel it; a finished job is not changed. Raises
    `MissingRow`."""
    job = get_job(session, job_id)
    if job.status not in UNFINISHED:
        return job
    return update_job(session, job_id, result={**job.result, _CANCEL: True})


def fail_stale_jobs(session: Session) -> list[JobRow]:
    """Mark jobs whose process no longer exists as failed, with a message saying so.

    Call at program start. Jobs of other running processes, such as a second server on the same
    database, are not changed. Returns the jobs that were marked.
    """
    failures = []
    for job in running_jobs(session):
        if _is_alive(job):
            continue
        where = f" at {job.done} of {job.total}" if job.total else ""
        message = (
            f"The program ended while this job was {job.status}{where}. Finished work is kept; "
            "start the job again to resume from there."
        )
        failures.append(update_job(session, job.id, status="failed", message=message))
    return failures


def forget_all(session: Session) -> None:
    """Delete all jobs, whatever their status."""
    session.execute(delete(Job))


def _is_alive(job: JobRow) -> bool:
    """Whether the job's process is running, as far as this machine can tell."""
    if job.owner == PROCESS:
        return True
    host, _, rest = job.owner.partition(":")
    process_id = rest.partition(":")[0]
    if host != socket.gethostname() or not process_id.isdigit():
        return now() - job.updated_at < SILENCE
    if int(process_id) == os.getpid():
        return False  # the process id was reused, by us
    return is_running(int(process_id))
