"""Long work in the background of the web app: one heavy job at a time, its state in the store.

The state lives in the `jobs` table, not in memory, so that a reloaded page finds its job again and
a restarted server can say what was interrupted.
"""

import logging
import threading
import time
from collections.abc import Callable
from queue import Queue
from typing import Any

from backend.errors import explain
from backend.pipeline import Progress
from backend.store import Store
from backend.views import JobView
from db.queries import jobs as queries

#: What a job does: takes a progress callback, returns figures that fit into JSON.
Work = Callable[[Progress], dict[str, Any]]

#: Seconds between two writes of a job's progress: a page polls about as often.
_WRITE_EVERY = 0.5

log = logging.getLogger(__name__)


class JobRunner:
    """A queue and one worker thread. Jobs of an earlier process that never ended are marked failed
    with a message that says so, as soon as the runner starts."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._queue: Queue[tuple[int, Work]] = Queue()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        with store.writing() as session:
            queries.fail_stale_jobs(session)

    def start(self, kind: str, dataset_id: int | None, work: Work) -> int:
        """Queue `work`; returns the job's id at once."""
        with self._store.writing() as session:
            job = queries.create_job(session, kind, dataset_id)
        self._queue.put((job.id, work))
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)
                self._thread.start()
        return job.id

    def job(self, job_id: int) -> JobView:
        with self._store.reading() as session:
            return view(queries.get_job(session, job_id))

    def running(self) -> list[JobView]:
        """Jobs queued or running, oldest first."""
        with self._store.reading() as session:
            return [view(row) for row in queries.running_jobs(session)]

    def _run(self) -> None:
        while True:
            job_id, work = self._queue.get()
            try:
                self._update(job_id, status="running")
                result = work(self._progress_of(job_id))
                self._update(job_id, status="done", result=result)
            except Exception as error:  # a job must never take the worker with it
                log.exception("job %s failed", job_id)
                try:
                    self._update(job_id, status="failed", message=explain(error))
                except Exception:
                    log.exception("job %s: its failure could not be stored", job_id)

    def _progress_of(self, job_id: int) -> Progress:
        last, pace = 0.0, Pace()

        def update(done: int, total: int, message: str) -> None:
            nonlocal last
            now = time.monotonic()
            message = pace.told(done, total, message, now)
            if now - last >= _WRITE_EVERY or done == total:
                last = now
                self._update(job_id, done=done, total=total, message=message)

        return update

    def _update(self, job_id: int, **changes: Any) -> None:
        with self._store.writing() as session:
            queries.update_job(session, job_id, **changes)


class Pace:
    """How fast a stage of a job goes, and how long it will still take.

    >>> pace = Pace()
    >>> pace.told(0, 100, "Scoring", 0.0), pace.told(40, 100, "Scoring", 10.0)
    ('Scoring', 'Scoring · 4.0 a second, 15 s left')
    """

    def __init__(self) -> None:
        self._stage = ""
        self._began = 0.0
        self._first = 0

    def told(self, done: int, total: int, message: str, now: float) -> str:
        """`message` with the pace behind it; nothing in a stage's first two seconds."""
        if message != self._stage:
            self._stage, self._began, self._first = message, now, done
        seconds, gone = now - self._began, done - self._first
        if seconds < 2 or gone <= 0 or not 0 < done < total:
            return message
        rate = gone / seconds
        left = (total - done) / rate
        told = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min"
        if left > 5400:
            told = f"{left / 3600:.1f} h"
        return f"{message} · {rate:.1f} a second, {told} left"


def view(row: queries.JobRow) -> JobView:
    """A stored job as pages see it."""
    return JobView(
        row.id, row.kind, row.dataset_id, row.status, row.done, row.total, row.message,
        row.result, row.updated_at,
    )  # fmt: skip
