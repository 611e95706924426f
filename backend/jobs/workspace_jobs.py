"""The long-running jobs as one object: `workspace.jobs`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, Protocol

from sqlalchemy.orm import Session

from backend.datasets import export_folder
from backend.datasets.export_row import MARK
from backend.datasets.read_options import DETECTED, ReadOptions, is_address
from backend.datasets.regular_files import typed_path
from backend.engine.correction import boosting
from backend.engine.trajectories.depth import parse_depth
from backend.errors import SettingsError, TracedError, UnsafePath, explain
from backend.jobs import (
    boost_captions,
    estimate,
    export_dataset,
    import_dataset,
    known_pictures,
    measure_captions,
    model_download,
    picture_quality,
    picture_vectors,
    retrain,
    score_dataset,
    specificity,
    support,
)
from backend.jobs.dataset_models import DatasetEngines
from backend.jobs.estimate import Estimate
from backend.jobs.model_manager import Models
from backend.jobs.reports import (
    ExportChoice,
    ExportCounts,
    ExportReport,
    ImportReport,
    JobView,
    ScoreReport,
    Selection,
)
from backend.jobs.runner import JobRunner
from backend.jobs.workers import AUTOMATIC, Devices
from backend.loaded_models import Engine
from backend.progress import Progress, Step, no_progress
from backend.settings import Settings
from backend.store import Store
from db.queries import classifier_queries, dataset_queries, job_queries
from db.queries import pairs as pair_queries
from db.queries.blind_review import NOBODY
from db.queries.classifier_queries import ClassifierRow
from db.queries.job_queries import JobRow
from db.queries.pair_queue import QueueFilter

#: How often an interrupted job is restarted: it may be what crashes the program.
MOST_ATTEMPTS = 3
#: The key of the curator who started a job, beside its arguments and later its figures.
_STARTER = "started_by"
#: Validates the arguments of a background job and returns replacements for them. May raise.
Guard = Callable[[str, dict[str, Any]], dict[str, Any]]


class Queues(Protocol):
    """What jobs use of `Review`, which is defined one level above."""

    def select_pairs(
        self, dataset_id: int, queue: str = "", view: str | None = None
    ) -> Selection | None: ...

    def decide_all(
        self, dataset_id: int, queue: str, decision: str, curator: str, batch: str,
        replaces: bool = False, progress: Progress = no_progress,
    ) -> Any: ...  # fmt: skip


class Jobs:
    """Every job: run it directly with a progress callback, or in the background with `start`."""

    def __init__(
        self,
        store: Store,
        engines: DatasetEngines,
        settings: Settings,
        queues_for: Callable[[str | None], Queues],
        seen_by: tuple["Jobs", str] | None = None,
    ) -> None:
        self.store = store
        self._base, self._reader = seen_by or (None, None)
        self.engines = engines
        self._settings = settings
        self.guard: Guard | None = self._base.guard if self._base is not None else None
        #: Where exports go for which no folder is named, each into one of its own.
        self.exports: Path | None = self._base.exports if self._base is not None else None
        #: The queues as each reader sees them (see `Store.seen_by`).
        self._queues_for = queues_for
        self.models = self._base.models if self._base is not None else Models(store, engines)

    def seen_by(self, reader: str) -> "Jobs":
        """The same jobs for one of several curators: what they start counts and writes verdicts as
        far as they see them, and exports of others are hidden from them. See `Store.seen_by`."""
        store = self.store.seen_by(reader)
        base = self._base or self
        return Jobs(store, self.engines, self._settings, self._queues_for, (base, reader))

    def _engine_with(
        self,
        dataset_id: int,
        model: str | None,
        trajectories: str | None,
        captioner: str | None = None,
    ) -> Engine:
        """The dataset's engine, or that of another model. Raises SettingsError."""
        engine = self.engines.of_dataset(dataset_id, model)
        changes: dict[str, Any] = {"captioner": captioner} if captioner else {}
        if trajectories is not None:
            changes["trajectories"] = parse_depth(trajectories).name
        return engine.with_settings(replace(engine.settings, **changes))

    def score(
        self,
        dataset_id: int,
        progress: Progress = no_progress,
        suggestions: bool = True,
        devices: Devices | None = None,
        model: str | None = None,
        download: bool = False,
        anyway: bool = False,
        anew: bool = False,
        trajectories: str | None = None,
        captioner: str | None = None,
    ) -> ScoreReport:
        """See `backend.jobs.score_dataset.score_dataset`; with the dataset's own model and
        captioner, or with others, which become its own. `model`: a preset, a hub name or a
        directory; `captioner`: as in `Settings`. `download`: download them first if they are not
        here. `trajectories`: which pairs get whole ones, as in `depth.parse_depth`; by default as
        the dataset was scored before, or by its size."""
        engine = self._engine_with(dataset_id, model, trajectories, captioner)
        for name in (model, engine.settings.captioner_model) if download else ():
            if name and not self.models.view(name).is_here:
                model_download.download(name, progress)
        return score_dataset.score_dataset(
            self.store, engine, dataset_id, progress, suggestions, devices, anyway, anew
        )

    def estimate(
        self,
        dataset_id: int,
        progress: Progress = no_progress,
        model: str | None = None,
        anyway: bool = False,
        suggestions: bool = True,
        trajectories: str | None = None,
        devices: Devices | None = None,
        captioner: str | None = None,
    ) -> Estimate:
        """See `backend.jobs.estimate.estimate`; what `score` would take with the same
        arguments."""
        engine = self._engine_with(dataset_id, model, trajectories, captioner)
        return estimate.estimate(
            self.store, engine, dataset_id, progress, anyway, suggestions, devices
        )

    def import_dataset(
        self,
        path: str | Path,
        name: str | None = None,
        progress: Progress = no_progress,
        update: str = "keep",
        gone: str = "keep",
        options: ReadOptions = DETECTED,
        anonymous: bool = False,
    ) -> ImportReport:
        """See `backend.jobs.import_dataset.import_dataset`."""
        return import_dataset.import_dataset(
            self.store,
            path,
            name,
            progress,
            self._settings.data_directory,
            update,
            gone,
            options,
            self._settings.upload_limit * 1e9,
            anonymous,
        )

    def estimate_figures(
        self, dataset_id: int, progress: Progress, **arguments: Any
    ) -> dict[str, Any]:
        """An estimate for this machine's idle cores, with its sum."""
        report = self.estimate(dataset_id, progress, devices=AUTOMATIC, **arguments)
        return _figures(report) | {"seconds": report.seconds}

    def import_and_recognise(
        self,
        _: int,
        progress: Progress,
        path: str,
        name: str | None = None,
        update: str = "keep",
        gone: str = "keep",
        anonymous: bool = False,
        **options: Any,
    ) -> ImportReport:
        """Import, then check whether the model that would score the dataset knows its pictures."""
        report = self.import_dataset(
            path, name, progress, update, gone, ReadOptions(**options), anonymous
        )
        return replace(report, asks_for_model=self.needs_model(report.dataset_id))

    def needs_model(self, dataset_id: int) -> str:
        """Why the model that would score the dataset cannot score its pictures; "" if it can, or if
        it cannot be loaded, which scoring reports."""
        engine = self.engines.of_dataset(dataset_id)
        try:
            return known_pictures.recognise(self.store, engine, dataset_id).refusal
        except TracedError:
            return ""

    def enrich(self, pair_id: int) -> str:
        """Ask the session's model for richer captions of one pair; returns the outcome in a few
        words."""
        dataset_id = self.store.read(pair_queries.get_pair, pair_id).dataset_id
        engine = self.engines.of_dataset(dataset_id)
        queue = QueueFilter(dataset_id, among=(pair_id,))
        booster = boost_captions.booster(self.engines.of_session, boosting.KINDS)
        # Someone waits.
        report = boost_captions.boost(self.store, engine, queue, booster, calibrate=False)
        return report.stopped or next(iter(report.outcomes), "nothing to enrich")

    def classifiers(self, dataset_id: int) -> list[ClassifierRow]:
        """All classifiers of a dataset, newest first."""
        return self.store.read(classifier_queries.list_classifiers, dataset_id)

    def adopt(self, classifier_id: int, progress: Progress = no_progress) -> int:
        """See `backend.jobs.retrain.adopt`."""
        return retrain.adopt(self.store, classifier_id, progress)

    def decline(self, classifier_id: int) -> None:
        """Record that a new classifier is not to be used; it can still be adopted."""
        self.store.write(classifier_queries.amend_report, classifier_id, declined=True)

    def export_counts(self, dataset_id: int, choice: ExportChoice) -> ExportCounts:
        """See `backend.jobs.export_dataset.count`."""
        return export_dataset.count(self.store, dataset_id, choice)

    def export(
        self,
        dataset_id: int,
        choice: ExportChoice,
        out: str | Path,
        format: str = "imagefolder",
        overwrite: bool = False,
        progress: Progress = no_progress,
    ) -> ExportReport:
        """See `backend.jobs.export_dataset.export`; to an address, its `export_to_address`."""
        facts = export_dataset.facts(self.store, dataset_id)
        write = partial(
            export_dataset.export, self.store, dataset_id, choice, format=format, facts=facts,
            progress=progress,
        )  # fmt: skip
        if is_address(out):
            return export_dataset.export_to_address(
                write, str(out), self._settings.data_directory, overwrite
            )
        return write(typed_path(out), overwrite=overwrite)

    def export_selected(
        self,
        dataset_id: int,
        progress: Progress,
        choice: ExportChoice,
        queue: str = "",
        view: str | None = None,
        **arguments: Any,
    ) -> ExportReport:
        """An export whose pairs are selected when it runs: a queue as text survives a restart,
        and a million ids need not be stored."""
        self.check_own_export(str(arguments["out"]))
        if queue or view is not None:
            only = self._queues_for(self._reader).select_pairs(dataset_id, queue, view)
            choice = replace(choice, only=only)
        return self.export(dataset_id, choice, progress=progress, **arguments)

    def new_export_folder(self, dataset_id: int) -> Path:
        """A folder for one export, below one for the account that starts it."""
        name = self.store.read(dataset_queries.get_dataset, dataset_id).name
        account = self._reader
        parent = self.exports or self._settings.data_directory / "exports"
        if account is not None:
            parent /= f"{_plain(account)}-{sha256(account.encode()).hexdigest()[:8]}"
        return parent / f"{_plain(name)}-{datetime.now():%Y%m%d-%H%M%S}-{token_hex(3)}"

    def check_own_export(self, out: str) -> None:
        """Raise UnsafePath if a curator names a folder with an export that is not their own, or one
        inside it."""
        if self._reader is None or is_address(out):
            return
        place = typed_path(out)
        for folder in (place, *place.parents):
            if not (folder / MARK).exists():
                continue
            job = self.store.read(job_queries.last_export, str(folder))
            is_own = (
                folder == place
                and job is not None
                and _starter(job) == self._reader
                and job.result.get("digest") == export_folder.digest_of(folder)
            )
            if not is_own:
                raise UnsafePath(
                    "That folder holds an export that is not yours. Name another one, or none: "
                    "then each export gets a folder of its own."
                )

    def decide_all(self, dataset_id: int, progress: Progress, **arguments: Any) -> Any:
        """See `backend.review.queue_rules.decide_all`."""
        queues = self._queues_for(self._reader)
        return queues.decide_all(dataset_id, progress=progress, **arguments)

    def run(
        self, kind: str, dataset_id: int, progress: Progress = no_progress, **arguments: Any
    ) -> Any:
        """The report of a job of this kind, one of JOBS, run here and now."""
        return JOBS[kind].run(self, dataset_id, progress, **arguments)

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

    def last_scoring(self, dataset_id: int) -> JobView | None:
        """The newest background job that scores the dataset, whatever its status."""
        with self.store.reading() as session:
            job = job_queries.latest_job(session, "score", dataset_id)
            return self._views([job], session)[0] if job is not None else None

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
        exports of others, a reader sees only that they exist: they are full of verdicts."""
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
            if job.kind == "export" and self._reader not in (None, _starter(job)):
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
        by = self._start(job.kind, job.dataset_id, _restored(job.arguments), 0, self._reader)
        self.background.continued(job_id, by)
        return by

    def start(self, kind: str, dataset_id: int | None = None, **arguments: Any) -> int:
        """Start `import`, `score`, `support`, `specificity`, `quality`, `duplicates`, `map`,
        `train`, `adopt`, `export`, `rule`, `estimate`, `measure`, or `download` and `probe`
        of a model in the background; its job id."""
        return self._start(kind, dataset_id, arguments, 0, self._reader)

    def _start(
        self,
        kind: str,
        dataset_id: int | None,
        arguments: dict[str, Any],
        attempts: int = 0,
        reader: str | None = None,
    ) -> int:
        if kind not in JOBS:
            raise SettingsError(f"There is no job '{kind}'.")
        job = JOBS[kind]
        as_seen_by = NOBODY if job.is_for_all else reader
        jobs = self if as_seen_by is None else self.seen_by(as_seen_by)
        if kind == "export" and not arguments.get("out"):
            arguments["out"] = str(jobs.new_export_folder(dataset_id or 0))
        if self.guard is not None:
            arguments |= self.guard(kind, arguments)
        if kind == "export":
            jobs.check_own_export(str(arguments["out"]))
        if kind == "import":
            import_dataset.check_named(arguments["path"], self._settings.data_directory)
            if root := arguments.get("image_root"):
                import_dataset.check_source(root, self._settings.data_directory)
        return self.background.start(
            kind,
            dataset_id,
            lambda progress: (
                _figures(job.run(jobs, dataset_id or 0, progress, **arguments)) | {_STARTER: reader}
            ),
            _figures(arguments) | {_STARTER: reader},
            attempts,
            frozenset(name.format_map({**arguments, "dataset": dataset_id}) for name in job.uses),
        )

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
                arguments, starter = _restored(job.arguments), _starter(job)
                by = self._start(job.kind, job.dataset_id, arguments, job.attempts + 1, starter)
            except TracedError as problem:
                why_not = explain(problem)
        self.background.continued(job.id, by, why_not)
        where = f" at {job.done:,} of {job.total:,}" if job.total else ""
        what = f"{job.kind} (job {job.id})"
        return f"{what} was interrupted{where}; " + (
            f"job {by} has taken it over." if by is not None else why_not
        )


@dataclass(frozen=True)
class Job:
    """A kind of background job.

    `run`: called with the `Jobs` as its starter sees them, a dataset (0: none), a progress callback
    and the job's arguments; returns a report that pydantic writes as JSON. `uses`: names of what it
    uses alone: models serve one job at a time, and a dataset is ranked by one. `is_for_all`: its
    results are for everybody, so it uses only what everybody may know.
    """

    run: Callable[..., Any]
    uses: tuple[str, ...] = ("ranking of {dataset}", "models")
    is_for_all: bool = False


def _with_models(function: Callable[..., Any]) -> Callable[..., Any]:
    """The work of a job on a dataset with its own models: `function`(store, engine, dataset, …)."""

    def run(jobs: Jobs, dataset_id: int, progress: Progress, **arguments: Any) -> Any:
        engine = jobs.engines.of_dataset(dataset_id)
        return function(jobs.store, engine, dataset_id, progress, **arguments)

    return run


#: Every kind of background job. Imports, exports, duplicates and maps need neither models nor
#: ranking.
JOBS: Mapping[str, Job] = {
    "import": Job(Jobs.import_and_recognise, ("import of {path}",)),
    "score": Job(partial(Jobs.score, devices=AUTOMATIC)),
    "estimate": Job(Jobs.estimate_figures, ("models",)),
    "support": Job(_with_models(support.measure_support)),
    "specificity": Job(_with_models(specificity.measure_specificity)),
    "measure": Job(
        lambda jobs, *rest, **arguments: measure_captions.measure_captions(
            jobs.store, *rest, **arguments
        ),
        ("{measure} of {dataset}",),
    ),
    "quality": Job(lambda jobs, *rest: picture_quality.measure_pictures(jobs.store, *rest)),
    "duplicates": Job(
        _with_models(picture_vectors.find_near_duplicates), ("duplicates of {dataset}",)
    ),
    "map": Job(_with_models(picture_vectors.draw_map), ("map of {dataset}",)),
    "train": Job(_with_models(retrain.train_candidate), is_for_all=True),
    "adopt": Job(
        lambda jobs, _, progress, classifier_id: {"pairs": jobs.adopt(classifier_id, progress)},
        ("ranking of {dataset}",),
    ),
    "export": Job(Jobs.export_selected, ("export to {out}",)),
    "rule": Job(Jobs.decide_all, ("rules of {dataset}",)),
    "download": Job(
        lambda jobs, _, progress, model: jobs.models.download(model, progress),
        ("download of {model}",),
    ),
    "probe": Job(lambda jobs, _, progress, model: jobs.models.probe(model, progress), ("models",)),
}


def _plain(name: str) -> str:
    """A name as a part of a path."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)[:60]


def _restored(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A job's arguments as they were before they became JSON."""
    from pydantic import TypeAdapter

    restored = {name: value for name, value in arguments.items() if name != _STARTER}
    if "choice" in restored:
        restored["choice"] = TypeAdapter(ExportChoice).validate_python(restored["choice"])
    return restored


def _starter(job: JobRow) -> str | None:
    """The curator who started the job; None: an operator."""
    name = job.result.get(_STARTER) or job.arguments.get(_STARTER)
    return None if name is None else str(name)


def _figures(result: Any) -> dict[str, Any]:
    """A job's arguments or its report as plain JSON values."""
    from pydantic_core import to_jsonable_python  # `--help` needs no pydantic

    figures: dict[str, Any] = to_jsonable_python(result, fallback=str)
    return figures
