"""Long work in the background: where it is, and what became of it."""

import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from db.column_types import now
from db.errors import MissingRow
from db.models import Job
from db.processes import is_running
from db.queries.statements import record

UNFINISHED = ("queued", "running")

#: This process, unmistakably: process ids are given again, most of all in containers.
PROCESS = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

#: A job whose process we cannot see (another machine) counts as dead after this silence.
SILENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class JobRow:
    """`status`: queued, running, done, failed or cancelled. `done` of `total` steps. `result`:
    figures once it is done; until then what is needed to start it again (see `arguments`)."""

    id: int
    kind: str
    dataset_id: int | None
    status: str
    done: int
    total: int
    message: str
    result: dict[str, Any]
    owner: str
    created_at: datetime
    updated_at: datetime

    @property
    def arguments(self) -> dict[str, Any]:
        """What the job was started with; empty once it is done."""
        return dict(self.result.get(_ARGUMENTS, {})) if self.status != "done" else {}

    @property
    def attempts(self) -> int:
        """How often it was started again after an interruption."""
        return int(self.result.get(_ATTEMPTS, 0)) if self.status != "done" else 0

    @property
    def is_cancelling(self) -> bool:
        """Somebody has cancelled the job, and it has not come to its next step yet."""
        return self.status in UNFINISHED and bool(self.result.get(_CANCEL))


_ARGUMENTS, _ATTEMPTS, _CANCEL = "arguments", "attempts", "cancel"
_COLUMNS = (
    Job.id,
    Job.kind,
    Job.dataset_id,
    Job.status,
    Job.done,
    Job.total,
    Job.message,
    Job.result,
    Job.owner,
    Job.created_at,
    Job.updated_at,
)


def create_job(
    session: Session,
    kind: str,
    dataset_id: int | None = None,
    message: str = "",
    arguments: Mapping[str, Any] | None = None,
    attempts: int = 0,
) -> JobRow:
    """A job of this process with the status 'queued'. `arguments`: anything that JSON can hold,
    kept so that a job that is interrupted can be started again."""
    kept = {_ARGUMENTS: dict(arguments or {}), _ATTEMPTS: attempts}
    job_id = session.execute(
        insert(Job)
        .values(
            kind=kind,
            dataset_id=dataset_id,
            status="queued",
            message=message,
            result=kept,
            owner=PROCESS,
        )
        .returning(Job.id)
    ).scalar_one()
    return get_job(session, job_id)


def update_job(
    session: Session,
    job_id: int,
    *,
    status: str | None = None,
    done: int | None = None,
    total: int | None = None,
    message: str | None = None,
    result: dict[str, Any] | None = None,
) -> JobRow:
    """Set what is given; what is None stays. Raises `MissingRow`."""
    given = {
        "status": status,
        "done": done,
        "total": total,
        "message": message,
        "result": result,
    }
    values = {name: value for name, value in given.items() if value is not None}
    session.execute(update(Job).where(Job.id == job_id).values(**values, updated_at=now()))
    return get_job(session, job_id)


def get_job(session: Session, job_id: int) -> JobRow:
    """Raises `MissingRow`."""
    row = session.execute(select(*_COLUMNS).where(Job.id == job_id)).one_or_none()
    if row is None:
        raise MissingRow(f"There is no job {job_id}.")
    return record(JobRow, row)


def running_jobs(session: Session) -> list[JobRow]:
    """Jobs that are queued or running, oldest first."""
    query = select(*_COLUMNS).where(Job.status.in_(UNFINISHED)).order_by(Job.id)
    return [record(JobRow, row) for row in session.execute(query)]


def recent_jobs(session: Session, limit: int) -> list[JobRow]:
    """The newest `limit` jobs and all that have not ended, newest first."""
    unfinished = select(Job.id).where(Job.status.in_(UNFINISHED))
    newest = select(Job.id).order_by(Job.id.desc()).limit(limit)
    query = (
        select(*_COLUMNS).where(Job.id.in_(unfinished) | Job.id.in_(newest)).order_by(Job.id.desc())
    )
    return [record(JobRow, row) for row in session.execute(query)]


def request_cancel(session: Session, job_id: int) -> JobRow:
    """Ask whichever process does the job to end it; nothing changes for a job that has ended.
    Raises `MissingRow`."""
    job = get_job(session, job_id)
    if job.status not in UNFINISHED:
        return job
    return update_job(session, job_id, result={**job.result, _CANCEL: True})


def fail_stale_jobs(session: Session) -> list[JobRow]:
    """Mark jobs whose process is gone as failed, and say so in their message.

    Call when a program starts. Jobs of other living processes, also of a second server on the
    same database, are left alone. Returns the jobs that were marked.
    """
    marked = []
    for job in running_jobs(session):
        if _is_alive(job):
            continue
        where = f" at {job.done} of {job.total}" if job.total else ""
        message = (
            f"The program ended while this job was {job.status}{where}. Finished work is kept; "
            "start the job again to resume from there."
        )
        marked.append(update_job(session, job.id, status="failed", message=message))
    return marked


def forget_all(session: Session) -> None:
    """Delete every job, whatever became of it."""
    session.execute(delete(Job))


def _is_alive(job: JobRow) -> bool:
    """Whether the job's process lives, as far as can be told from here."""
    if job.owner == PROCESS:
        return True
    host, _, rest = job.owner.partition(":")
    process_id = rest.partition(":")[0]
    if host != socket.gethostname() or not process_id.isdigit():
        return now() - job.updated_at < SILENCE
    if int(process_id) == os.getpid():
        return False  # the id was given again, to us
    return is_running(int(process_id))
