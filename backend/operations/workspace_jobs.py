"""The operations in the background of the web app, resumable: `workspace.jobs`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from pydantic_core import to_jsonable_python
from sqlalchemy.orm import Session

from backend.datasets.cells import text_problem
from backend.errors import SettingsError, TracedError, explain
from backend.jobs.job_view import JobView
from backend.jobs.model_manager import Models
from backend.jobs.runner import JobRunner
from backend.jobs.scoring.dataset_models import DatasetEngines
from backend.jobs.scoring.estimate import Estimate
from backend.jobs.scoring.workers import Devices
from backend.jobs.scoring_reports import ScoreReport
from backend.operations.context import Context
from backend.operations.export import STARTER, starter_of
from backend.operations.import_ import IMPORT
from backend.operations.operation import Operation
from backend.operations.registry import OPERATIONS
from backend.operations.score import EstimateOptions, ScoreOptions, estimate, score
from backend.options import Options
from backend.progress import Progress, Step, no_progress
from backend.review.operations import Review
from backend.settings import Settings
from backend.store import Store
from db.queries import dataset_queries, job_queries
from db.queries.blind_review import NOBODY
from db.queries.job_queries import JobRow

#: How often an interrupted job is restarted: it may be what crashes the program.
MOST_ATTEMPTS = 3
#: Validates the options of a background job and returns replacements for them. May raise.
Guard = Callable[[str, Options | Mapping[str, Any]], dict[str, Any]]


class Jobs(Context):
    """Every operation: run it here and now with `run`, or in the background with `start`."""

    def __init__(
        self,
        store: Store,
        engines: DatasetEngines,
        settings: Settings,
        review: Review,
        seen_by: tuple["Jobs", str] | None = None,
    ) -> None:
        self._base, reader = seen_by or (None, None)
        base = self._base
        models = base.models if base is not None else Models(store, engines)
        super().__init__(store, engines, settings, review, models, reader)
        self.guard: Guard | None = None
        if base is not None:
            self.guard, self.exports = base.guard, base.exports

    def seen_by(self, reader: str) -> "Jobs":
        """The same jobs for one of several curators: what they start counts and writes verdicts as
        far as they see them, and exports of others are hidden from them. See `Store.seen_by`."""
        store, review = self.store.seen_by(reader), self.review.seen_by(reader)
        return Jobs(store, self.engines, self.settings, review, (self._base or self, reader))

    def run(
        self, kind: str, dataset_id: int, progress: Progress = no_progress, **options: Any
    ) -> Any:
        """The report of an operation, one of OPERATIONS, run here and now. Raises SettingsError for
        options that it does not have."""
        operation = OPERATIONS[kind]
        return operation.run(self, dataset_id, operation.options.parse(options), progress)

    def score(
        self,
        dataset_id: int,
        progress: Progress = no_progress,
        devices: Devices | None = None,
        **options: Any,
    ) -> ScoreReport:
        """Score a dataset. `devices`: the processes that share what takes long; None: this one
        alone. `options`: those of `ScoreOptions`."""
        return score(self, dataset_id, ScoreOptions.parse(options), progress, devices)

    def estimate(
        self,
        dataset_id: int,
        progress: Progress = no_progress,
        devices: Devices | None = None,
        **options: Any,
    ) -> Estimate:
        """What `score` would take with the same arguments."""
        return estimate(self, dataset_id, EstimateOptions.parse(options), progress, devices)

    # ---------------------------------------------------------------- in the background

    @cached_property
    def background(self) -> JobRunner:
        """The runner of this process; created on first use, because it marks the unfinished jobs of
        an earlier process."""
        return self._base.background if self._base is not None else JobRunner(self.store)

    def job(self, job_id: int) -> JobView:
        """Raises NotFound."""
        with self.store.reading() as session:
            return self._views([job_queries.get_job(session, job_id)], session)[0]

    def last(self, kind: str, dataset_id: int, status: str | None = None) -> JobView | None:
        """The newest background job of this kind for the dataset. `status`: by default, whatever it
        is."""
        with self.store.reading() as session:
            job = job_queries.latest_job(session, kind, dataset_id, status)
            return self._views([job], session)[0] if job is not None else None

    def last_result(self, kind: str, dataset_id: int) -> dict[str, Any]:
        """What the newest background job of this kind found that is done, as far as the reader may
        see it: one that runs, has failed or was cancelled takes nothing back. {} without one."""
        job = self.last(kind, dataset_id, "done")
        return job.result if job is not None else {}

    def last_scoring(self, dataset_id: int) -> JobView | None:
        """The newest background job that scores the dataset, whatever its status."""
        return self.last("score", dataset_id)

    def exports_of(self, dataset_id: int, limit: int = 10) -> list[JobView]:
        """The newest exports of the dataset that are done and the reader may see, newest first."""
        with self.store.reading() as session:
            views = self._views(job_queries.exports_of(session, dataset_id, limit), session)
        return [view for view in views if view.result.get("out")]

    def running(self) -> list[JobView]:
        """Background jobs queued or running, of all servers on this database, oldest first."""
        with self.store.reading() as session:
            return self._views(job_queries.running_jobs(session), session)

    def recent(self, limit: int = 10) -> list[JobView]:
        """The newest `limit` background jobs and all unfinished ones, newest first."""
        with self.store.reading() as session:
            return self._views(job_queries.recent_jobs(session, limit), session)

    def _views(self, jobs: Sequence[JobRow], session: Session) -> list[JobView]:
        """Stored jobs as pages see them; the names of their datasets are read in one query. Of the
        private ones of others, a reader sees only that they exist."""
        ids = {job.dataset_id for job in jobs if job.dataset_id is not None}
        names = dataset_queries.names_of(session, ids) if ids else {}
        views = []
        for job in jobs:
            subject = str(job.arguments.get("path", "") or job.arguments.get("model", ""))
            if job.dataset_id is not None:
                subject = names.get(job.dataset_id, "")
            elif job.status == "done":
                subject = str(job.result.get("name", ""))
            view = JobView(
                job.id, job.kind, subject, job.dataset_id, job.status, job.is_cancelling, job.done,
                job.total, Step(**job.step), job.message, job.failure, job.continued_by, job.result,
                job.created_at, job.updated_at,
            )  # fmt: skip
            operation = OPERATIONS.get(job.kind)
            # Nobody knows what is in the result of a feature that is not there.
            is_private = operation is None or operation.is_private
            if is_private and self.reader not in (None, starter_of(job)):
                view = replace(view, message="", result={}, done=0, total=0, step=Step())
            views.append(view)
        return views

    def cancel(self, job_id: int) -> None:
        """Stop a job at its next step; committed results are kept. Raises NotFound."""
        self.background.cancel(job_id)

    def retry(self, job_id: int) -> int:
        """Restart a failed or cancelled job with the same arguments; returns the new job's id.
        Raises NotFound, and SettingsError for a job that succeeded or is still running."""
        job = self.store.read(job_queries.get_job, job_id)
        if job.status not in ("failed", "cancelled"):
            raise SettingsError(f"Job {job_id} is {job.status}: there is nothing to retry.")
        by = self._start(job.kind, job.dataset_id, _restore(job.arguments), 0, self.reader)
        self.background.record_progress(job_id, by)
        return by

    def start(self, kind: str, dataset_id: int | None = None, **arguments: Any) -> int:
        """Start an operation, one of OPERATIONS, in the background; its job id. `arguments`: its
        options. Raises SettingsError for options that it does not have."""
        return self._start(kind, dataset_id, arguments, 0, self.reader)

    def _start(
        self,
        kind: str,
        dataset_id: int | None,
        arguments: Mapping[str, Any],
        attempts: int = 0,
        reader: str | None = None,
    ) -> int:
        operation = OPERATIONS.get(kind)
        if operation is None:
            raise SettingsError(f"There is no job '{kind}'.")
        options = operation.options.parse(arguments)
        as_starter = self if reader is None else self.seen_by(reader)
        if self.guard is not None:
            options = options.model_copy(update=self.guard(kind, options))
        options = operation.prepare(as_starter, dataset_id or 0, options)
        for name, value in options.model_dump(mode="json").items():
            if problem := next(filter(None, map(text_problem, _texts(value))), ""):
                raise SettingsError(f"{name} cannot be used: {problem}.")
        jobs = self.seen_by(NOBODY) if operation.is_for_all else as_starter
        names = {**dict(options), "dataset": dataset_id}

        def work(progress: Progress) -> dict[str, Any]:
            report = operation.run(jobs, dataset_id or 0, options, progress)
            words = {"in_words": report.in_words()} if hasattr(report, "in_words") else {}
            if kind == IMPORT.name:
                self._look_first(report.dataset_id, reader)
            return _figures(report) | words | {STARTER: reader}

        return self.background.start(
            kind,
            dataset_id,
            work,
            options.model_dump(mode="json", exclude_unset=True) | {STARTER: reader},
            attempts,
            frozenset(name.format_map(names) for name in operation.uses),
        )

    def _look_first(self, dataset_id: int, reader: str | None) -> None:
        """Start what follows an import."""
        for operation in self.following_import(dataset_id):
            self._start(operation.name, dataset_id, {}, reader=reader)

    def following_import(self, dataset_id: int) -> list[Operation[Any]]:
        """What is to be run once this dataset was imported."""
        if not self.settings.first_look:
            return []
        return [each for each in OPERATIONS.values() if each.follows_import(self, dataset_id)]

    def resume(self) -> list[str]:
        """Resume the jobs interrupted with the previous process, each as a new job; returns one
        sentence per job on what was interrupted and what happens to it."""
        return [self._resume(job) for job in self.background.interrupted]

    def _resume(self, job: JobRow) -> str:
        by, why_not = None, ""
        if job.attempts >= MOST_ATTEMPTS:
            why_not = f"It was interrupted {job.attempts + 1} times and will not be started again."
        else:
            try:
                arguments, starter = _restore(job.arguments), starter_of(job)
                by = self._start(job.kind, job.dataset_id, arguments, job.attempts + 1, starter)
            except TracedError as problem:
                why_not = explain(problem)
        self.background.record_progress(job.id, by, why_not)
        where = f" at {job.done:,} of {job.total:,}" if job.total else ""
        what = f"{job.kind} (job {job.id})"
        return f"{what} was interrupted{where}; " + (
            f"job {by} has taken it over." if by is not None else why_not
        )


def _texts(value: Any) -> Iterator[str]:
    """Every text in plain JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)


def _restore(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A job's options as they are stored, beside who started it."""
    return {name: value for name, value in arguments.items() if name != STARTER}


def _figures(report: Any) -> dict[str, Any]:
    """A report as plain JSON values."""
    figures: dict[str, Any] = to_jsonable_python(report, fallback=str)
    return figures
