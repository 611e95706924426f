"""Background jobs of the web app: concurrent, with their state in the store.

The state lives in the `jobs` table, not in memory, so that a reloaded page finds its job again, a
restarted server can report what was interrupted, and a second server on the same database can
cancel.
"""

import atexit
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from backend.errors import StoreError, TracedError, as_traced, explain
from backend.progress import Pace, Progress
from backend.store import Store
from db.queries import job_queries

#: The work of a job: takes a progress callback, returns JSON-serialisable figures.
Work = Callable[[Progress], dict[str, Any]]

#: Maximum number of concurrent jobs: more would only compete for processor time.
MOST_AT_ONCE = 4
#: Seconds between two writes of a job's progress: a page polls about as often.
_WRITE_EVERY = 0.5
#: How often the end of a job is written if the database does not answer, every so many seconds.
_TRY_END, _TRY_EVERY = 120, 5.0
#: Seconds that a program which ends waits for its jobs.
_AT_EXIT = 20.0

log = logging.getLogger(f"traced.{__name__}")


class Stopped(BaseException):
    """The process is shutting down: raised when a job reports progress, so that it ends between two
    steps. Not an Exception, so that error handlers do not catch it."""


class Cancelled(BaseException):
    """The job has been cancelled; raised at the same place as `Stopped`."""


@dataclass(frozen=True)
class _Job:
    id: int
    work: Work
    uses: frozenset[str]


class JobRunner:
    """Runs each job in its own thread as soon as no earlier job uses the same resources. Unfinished
    jobs of an earlier process are marked as failed, with a message saying so, when the runner
    starts; they are in `interrupted`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._changed = threading.Condition()
        self._waiting: list[_Job] = []
        self._running: dict[int, _Job] = {}
        self._stopping = threading.Event()
        _RUNNERS.add(self)
        with store.writing() as session:
            self.interrupted = tuple(job_queries.fail_stale_jobs(session))

    def start(
        self,
        kind: str,
        dataset_id: int | None,
        work: Work,
        arguments: Mapping[str, Any] | None = None,
        attempts: int = 0,
        uses: frozenset[str] = frozenset(),
    ) -> int:
        """Queue `work`; returns the job's id at once. `arguments`: its JSON-serialisable
        arguments and the number of earlier starts, for `interrupted` and for a retry.
        `uses`: names of exclusive resources, such as the models."""
        job = self._store.write(
            job_queries.create_job, kind, dataset_id, arguments=arguments, attempts=attempts
        )
        with self._changed:
            self._waiting.append(_Job(job.id, work, uses))
            self._start_what_can()
        return job.id

    def cancel(self, job_id: int) -> None:
        """Stop the job at its next step, even if another server on this database runs it; committed
        results are kept. A finished job is not changed. Raises NotFound."""
        with self._changed:
            waiting = [job for job in self._waiting if job.id == job_id]
            for job in waiting:
                self._waiting.remove(job)
            self._changed.notify_all()
        with self._store.writing() as session:
            if waiting:
                job_queries.update_job(session, job_id, status="cancelled", message="Cancelled.")
            else:
                job_queries.request_cancel(session, job_id)
        with self._changed:
            self._start_what_can()

    def stop(self, seconds: float) -> bool:
        """Stop running jobs at their next step and start no others; False on timeout. Unfinished
        jobs are `interrupted` for the next runner on this database."""
        self._stopping.set()
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()
        return self.wait(seconds)

    def record_progress(self, job_id: int, by: int | None, why_not: str = "") -> None:
        """Record what happened next to an unfinished job: the job that has taken it over, or why
        none has."""
        end = f"Job {by} has taken it over." if by is not None else why_not
        with self._store.writing() as session:
            message = f"{job_queries.get_job(session, job_id).message} {end}"
            job_queries.update_job(session, job_id, message=message, continued_by=by)

    def wait(self, seconds: float) -> bool:
        """Wait until this runner has no queued or running jobs; False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._waiting and not self._running, seconds)

    def _start_what_can(self) -> None:
        """Start waiting jobs in order; a job that has to wait reserves its resources against later
        ones, so that it cannot starve. Called with the lock held."""
        in_use = {name for job in self._running.values() for name in job.uses}
        for job in list(self._waiting):
            if self._stopping.is_set() or len(self._running) >= MOST_AT_ONCE:
                return
            if not job.uses & in_use:
                self._waiting.remove(job)
                self._running[job.id] = job
                name = f"job {job.id}"
                threading.Thread(target=self._run, args=(job,), name=name, daemon=True).start()
            in_use |= job.uses

    def _run(self, job: _Job) -> None:
        try:
            self._carry_out(job)
        except Stopped:
            pass  # stays "running" in the store; this process is about to end
        finally:
            with self._changed:
                del self._running[job.id]
                self._start_what_can()
                self._changed.notify_all()

    def _carry_out(self, job: _Job) -> None:
        try:
            self._update(job.id, status="running")
            result = job.work(self._progress_of(job.id))
            self._update(job.id, status="done", result=result)
        except Cancelled:
            self._end(job.id, "cancelled", _cancelled_at)
        except Exception as problem:  # a job must never crash the runner
            if self._is_ending():
                raise Stopped from problem
            error = as_traced(problem)
            if isinstance(error, TracedError):
                # Its message, which may quote the dataset, is stored with the job.
                log.warning("job %s failed: %s", job.id, error.title)
            else:
                log.exception("job %s failed", job.id)
            message = explain(error, "page")
            self._end(job.id, "failed", lambda _: message, type(error).__name__)

    def _is_ending(self) -> bool:
        """Whether an error may come from the end of the program: an interpreter that goes refuses
        threads and imports, before `stop` is called."""
        return self._stopping.is_set() or not threading.main_thread().is_alive()

    def _end(
        self,
        job_id: int,
        status: str,
        message: Callable[[job_queries.JobRow], str],
        failure: str = "",
    ) -> None:
        """Store why a job ended. A database that restarts is waited for: its row would say for ever
        that the job runs."""
        for attempt in range(_TRY_END):
            try:
                with self._store.writing() as session:
                    text = message(job_queries.get_job(session, job_id))
                    job_queries.update_job(
                        session, job_id, status=status, message=text, failure=failure
                    )
                return
            except StoreError as problem:
                log.warning("job %s: its end is not stored yet: %s", job_id, problem)
                if attempt == _TRY_END - 1 or self._stopping.wait(_TRY_EVERY):
                    return
            except Exception:
                log.exception("job %s: its status %s could not be stored", job_id, status)
                return

    def _progress_of(self, job_id: int) -> Progress:
        last, pace = 0.0, Pace()

        def update(done: int, total: int, message: str) -> None:
            nonlocal last
            if self._stopping.is_set():
                raise Stopped
            now = time.monotonic()
            step = pace.step(done, total, message, now)
            if now - last >= _WRITE_EVERY or done == total:
                last = now
                try:
                    job = self._update(job_id, done=done, total=total, step=asdict(step))
                except StoreError as problem:  # if it lasts, the job's own work fails
                    log.warning("job %s: its progress is not stored: %s", job_id, problem)
                    return
                if job.is_cancelling:
                    raise Cancelled

        return update

    def _update(self, job_id: int, **changes: Any) -> job_queries.JobRow:
        return self._store.write(job_queries.update_job, job_id, **changes)


#: The runners of this process.
_RUNNERS: weakref.WeakSet[JobRunner] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    """A script may end while a job runs: a thread that is inside a model when the interpreter goes
    would abort the process."""
    runners = list(_RUNNERS)
    for runner in runners:
        runner.stop(0)
    for runner in runners:
        runner.wait(_AT_EXIT)


# A forked child has none of the threads, and would wait for them.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_RUNNERS.clear)


def _cancelled_at(job: job_queries.JobRow) -> str:
    where = f" at {job.done:,} of {job.total:,}" if job.total else ""
    return f"Cancelled{where}. Finished work is kept; a retry resumes from there."
