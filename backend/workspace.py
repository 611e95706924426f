"""The one door through which pages and commands reach engine and store.

Every method is a whole transaction or a whole question; what comes back is a frozen record from
`backend.views`. Methods that only read the store answer at once; those that compute
(`suggest`, `check_caption`, `playground`) wait for the engine's lock; the long ones (`score`,
`train`, `export`) take a progress callback, or run as background jobs (`start_job`).
"""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from backend.captions import Caption
from backend.correction.modes import Mode
from backend.datasets import images
from backend.datasets.containers import ImageFile
from backend.engine import Engine
from backend.errors import DatasetNotFound, NotFound, SettingsError
from backend.jobs import JobRunner
from backend.language_models import ChatModel
from backend.pipeline import (
    Progress,
    asking,
    correcting,
    exporting,
    importing,
    no_progress,
    scores_file,
    scoring,
    training,
)
from backend.pipeline.asking import LONGEST_EDIT
from backend.pipeline.pair_view import view_of
from backend.pipeline.plane import plane_of
from backend.pipeline.progress import progress_of
from backend.pipeline.ray_scoring import Cluster
from backend.pipeline.searching import Finder
from backend.pipeline.team import Team
from backend.scoring.protocol import ScorerInfo
from backend.settings import Settings
from backend.store import open_database
from backend.views import (
    DECISIONS,
    WRONG,
    Abstractness,
    CaptionCheck,
    ClassifierView,
    CorrectionReport,
    DatasetSummary,
    DistillationReport,
    DryRun,
    ExportChoice,
    ExportCounts,
    ExportReport,
    ImportReport,
    JobView,
    PairView,
    PlaneView,
    PlaygroundResult,
    ProblemView,
    ProgressView,
    ScoreReport,
    SuggestionView,
    TrainReport,
)
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import opinions as opinion_queries
from db.queries import pairs as pair_queries
from db.queries import queue as queue_queries
from db.queries import suggestions as suggestion_queries
from db.queries import verdicts as verdict_queries
from db.queries import views as view_queries
from db.queries import word_marks as word_mark_queries
from db.queries.queue import Cursor, QueueFilter, QueuePage, Range
from db.queries.verdicts import Decided
from db.queries.views import ViewRow

if TYPE_CHECKING:
    from backend.correction.fine_tuning import Recipe
    from backend.language_models.local import LocalVisionLanguageModel

__all__ = ["Cursor", "QueueFilter", "QueuePage", "Range", "ViewRow", "Workspace"]

LONGEST_NAME = 80
#: Where pages end counting a queue: of very many only that is told.
MOST_COUNTED = 10_000
#: Pairs of a dataset whose totals are not counted at every key, and for how many seconds.
LARGE, TOTALS_HOLD = 50_000, 3.0


class Workspace:
    """A store, the models of a session, and everything that can be done with both."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = open_database(settings.database_url)
        self.engine = Engine(settings)
        self.team = Team(self.store)
        self._finder = Finder(self.store, self.engine)
        self._totals: dict[int, tuple[float, tuple[int, int]]] = {}
        self._jobs: JobRunner | None = None

    # ---------------------------------------------------------------- datasets

    def datasets(self) -> list[DatasetSummary]:
        with self.store.reading() as session:
            return [_summary(session, row) for row in dataset_queries.list_datasets(session)]

    def summary(self, dataset_id: int) -> DatasetSummary:
        """Counts of a dataset. Those of verdicts are always new; of a large dataset's pairs and
        scores they may be some seconds old, because every key on a page asks for them."""
        with self.store.reading() as session:
            row = dataset_queries.get_dataset(session, dataset_id)
            counted_at, known = self._totals.get(dataset_id, (0.0, (0, 0)))
            if known[0] < LARGE or time.monotonic() - counted_at > TOTALS_HOLD:
                known = pair_queries.totals(session, dataset_id)
                self._totals[dataset_id] = (time.monotonic(), known)
            return _summary(session, row, known)

    def find(self, name: str) -> int:
        """The id of the dataset of that name; raises DatasetNotFound naming those there are."""
        try:
            with self.store.reading() as session:
                return dataset_queries.get_dataset(session, name).id
        except NotFound as problem:
            raise DatasetNotFound(str(problem)) from problem

    def find_or_import(self, name_or_path: str, progress: Progress = no_progress) -> int:
        """A dataset by its name, or by a path that is imported first (again: only what is new).

        Where another folder of that name is known already (two clones, two users of one database),
        the new one is called name-2.
        """
        try:
            return self.find(name_or_path)
        except DatasetNotFound:
            path = Path(name_or_path).expanduser().resolve()
            if not path.exists():
                raise
        known = {Path(summary.source): summary.name for summary in self.datasets()}
        name = known.get(path) or _free_name(path, set(known.values()))
        return self.import_dataset(path, name=name, progress=progress).dataset_id

    def import_dataset(
        self,
        path: str | Path,
        name: str | None = None,
        progress: Progress = no_progress,
        **columns: Any,
    ) -> ImportReport:
        """See `backend.pipeline.importing.import_dataset`."""
        fetched = self.settings.data_directory / "fetched"
        return importing.import_dataset(
            self.store, path, name, progress, fetched=fetched, **columns
        )

    def problems(self, dataset_id: int, offset: int = 0, limit: int = 50) -> list[ProblemView]:
        """Rows that did not go in, in the order of the files."""
        with self.store.reading() as session:
            rows = dataset_queries.list_problems(session, dataset_id, offset, limit)
        return [ProblemView(r.file, r.row, r.kind, r.message, r.external_id) for r in rows]

    def prepare(self, name_or_path: str) -> int:
        """Make a dataset ready to be opened: import it now if needed, score it in the background.

        Returns its id. The first page does not wait for the scores.
        """
        dataset_id = self.find_or_import(name_or_path)
        summary = self.summary(dataset_id)
        if summary.scored < summary.total or not self.classifiers(dataset_id):
            self.start_job("score", dataset_id)
        return dataset_id

    # ---------------------------------------------------------------- the queue

    def queue_page(self, filter: QueueFilter, after: Any = None, limit: int = 24) -> QueuePage:
        """The next pairs. To a reader of the overlap those that wait for their own opinion show
        nothing of what others have said."""
        with self.store.reading() as session:
            page = queue_queries.page(session, filter, after, limit)
        if not _is_blind(filter):
            return page
        rows = (replace(row, decision=None, corrected_caption=None) for row in page.rows)
        return replace(page, rows=tuple(rows))

    def queue_count(self, filter: QueueFilter, at_most: int | None = None) -> int:
        """How many pairs are in the queue; counting ends at `at_most`."""
        with self.store.reading() as session:
            return queue_queries.count(session, filter, at_most)

    def handed(self, filter: QueueFilter, reader: str) -> QueueFilter:
        """The same queue as it is handed to one of several curators."""
        with self.store.reading() as session:
            dataset = dataset_queries.get_dataset(session, filter.dataset_id)
        return replace(
            filter,
            reader=reader,
            overlap_share=dataset.overlap_share,
            overlap_people=dataset.overlap_people,
        )

    def search(self, dataset_id: int, meaning: str = "", like: str = "") -> tuple[int, ...] | None:
        """Pairs found by what captions mean, or by what is like another pair (see
        `backend.pipeline.searching`), nearest first; None: nothing was asked. Raises SettingsError
        where there is nothing to compare yet."""
        if like:
            return self._finder.like(dataset_id, like)
        return self._finder.by_meaning(dataset_id, meaning) if meaning else None

    def first_pair(self, filter: QueueFilter) -> int | None:
        rows = self.queue_page(filter, None, 1).rows
        return rows[0].pair_id if rows else None

    def take_next(self, filter: QueueFilter, curator: str) -> int | None:
        """The first pair of the queue that nobody else has before them; it is this curator's for
        ten minutes. None: nothing is left."""
        return self.team.claim_first(self.handed(filter, curator), curator)

    def neighbours(self, filter: QueueFilter, pair_id: int) -> tuple[int | None, int | None]:
        """(previous, next) pair in the queue's order; the pair itself may have left the filter."""
        with self.store.reading() as session:
            return (
                queue_queries.previous_pair(session, filter, pair_id),
                queue_queries.next_pair(session, filter, pair_id),
            )

    def saved_views(self, dataset_id: int) -> list[ViewRow]:
        """Queues with a name, for everybody who works on the dataset."""
        with self.store.reading() as session:
            return view_queries.list_views(session, dataset_id)

    def save_view(self, dataset_id: int, name: str, fields: dict[str, str]) -> None:
        """Keep a queue under a name; one of that name is replaced."""
        name = " ".join(name.split())
        if not name or len(name) > LONGEST_NAME:
            raise SettingsError(f"A view's name has 1 to {LONGEST_NAME} characters.")
        with self.store.writing() as session:
            view_queries.save_view(session, dataset_id, name, fields, self.settings.author)

    def delete_view(self, dataset_id: int, name: str) -> None:
        with self.store.writing() as session:
            view_queries.delete_view(session, dataset_id, name)

    # ---------------------------------------------------------------- one pair

    def open_pair(self, pair_id: int, reader: str | None = None) -> PairView:
        """Everything about one pair, from the store alone: fast, no model is asked.

        To a `reader` whose own opinion the pair waits for, it shows nothing of what others said.
        """
        return view_of(self.store, pair_id, reader, self.settings.corrector)

    def image_path(self, pair_id: int) -> ImageFile:
        """The pair's image, checked to lie inside its dataset's root."""
        return asking.image_path(self.store, pair_id)

    def thumbnail(self, pair_id: int, size: int = 160) -> bytes:
        """A small JPEG of the pair's image, cached beside the store."""
        path = self.image_path(pair_id)
        return images.cached_thumbnail(path, size, self.settings.data_directory / "thumbnails")

    # ---------------------------------------------------------------- verdicts

    def decide(
        self,
        pair_id: int,
        expected_version: int,
        decision: str,
        corrected_caption: str | None = None,
        suggestion_id: int | None = None,
        author: str | None = None,
    ) -> PairView:
        """Write a verdict; committed when this returns.

        `expected_version` is the version the curator saw. Raises VerdictConflict, with nothing
        written, if somebody decided in between, and SettingsError for a verdict that makes no
        sense.
        """
        if decision not in DECISIONS:
            raise SettingsError(f"'{decision}' is no verdict; use one of {', '.join(DECISIONS)}.")
        if decision == "correction":
            corrected_caption = self._corrected(pair_id, corrected_caption, suggestion_id)
        else:
            corrected_caption = suggestion_id = None
        who = author or self.settings.author
        settles = self.team.may_settle(who) and self._differ(pair_id, who)
        with self.store.writing() as session:
            verdict_queries.add_verdict(
                session,
                pair_id,
                expected_version,
                decision,
                corrected_caption=corrected_caption,
                suggestion_id=suggestion_id,
                author=who,
                settles=settles,
            )
        return self.open_pair(pair_id)

    def _differ(self, pair_id: int, adjudicator: str) -> bool:
        """Whether others have said different things about the pair."""
        with self.store.reading() as session:
            others = [
                (one.decision, one.corrected_caption)
                for one in opinion_queries.of_pair(session, pair_id)
                if one.author != adjudicator
            ]
        return len(set(others)) > 1

    def decide_many(
        self, seen: Sequence[tuple[int, int]], decision: str, author: str | None = None
    ) -> Decided:
        """The same verdict for many pairs, each as seen at its version; committed when this
        returns, and one undo takes it back. Pairs that have moved on are passed over."""
        if decision not in DECISIONS or decision == "correction":
            raise SettingsError(f"'{decision}' cannot be said of many pairs at once.")
        if not seen:
            raise SettingsError("No pair is selected.")
        with self.store.writing() as session:
            return verdict_queries.add_verdicts(
                session, seen, decision, author=author or self.settings.author
            )

    def mark_word(self, pair_id: int, word: int, author: str | None = None) -> bool:
        """Call a word of the caption wrong, or take that back; whether it is marked now."""
        with self.store.writing() as session:
            spans = Caption.parse(pair_queries.get_pair(session, pair_id).caption).spans
            if not 0 <= word < len(spans):
                raise SettingsError(f"The caption has no word {word + 1}.")
            who = author or self.settings.author
            return word_mark_queries.toggle(session, pair_id, *spans[word], who)

    def undo(self, dataset_id: int, author: str | None = None) -> PairView | None:
        """Take back the author's newest verdict, with all that was given together with it
        (`together`); None if there is none left."""
        with self.store.writing() as session:
            row = verdict_queries.undo_last(session, dataset_id, author or self.settings.author)
        if row is None:
            return None
        return replace(self.open_pair(row.pair_id), together=row.together)

    def redo(self, dataset_id: int, author: str | None = None) -> PairView | None:
        """Give back what was undone last; None if there is nothing."""
        with self.store.writing() as session:
            row = verdict_queries.redo_last(session, dataset_id, author or self.settings.author)
        if row is None:
            return None
        return replace(self.open_pair(row.pair_id), together=row.together)

    def _corrected(self, pair_id: int, text: str | None, suggestion_id: int | None) -> str:
        """The corrected caption of a verdict: the edit's text, or the suggestion's."""
        with self.store.reading() as session:
            pair = pair_queries.get_pair(session, pair_id)
            offers = suggestion_queries.list_suggestions(session, pair_id)
        if text is None and suggestion_id is not None:
            text = next((row.caption for row in offers if row.id == suggestion_id), None)
        text = (text or "").strip()
        if not text:
            raise SettingsError("The corrected caption is empty. Type one, or choose 'drop'.")
        if len(text) > LONGEST_EDIT or "\0" in text:
            raise SettingsError(f"The corrected caption is longer than {LONGEST_EDIT} characters.")
        if text == pair.caption:
            raise SettingsError("The corrected caption is the caption as it was: nothing changed.")
        return text

    # ---------------------------------------------------------------- asking the models

    def model_info(self) -> ScorerInfo:
        return self.engine.scorer.info

    def suggest(self, pair_id: int) -> tuple[SuggestionView, ...]:
        """Corrections for one pair; see `backend.pipeline.asking.suggest`."""
        return asking.suggest(self.store, self.engine, pair_id)

    def check_caption(self, pair_id: int, caption: str) -> CaptionCheck:
        """Score the curator's own edit of a pair's caption."""
        return asking.check_caption(self.store, self.engine, pair_id, caption)

    def why_abstract(self, pair_id: int) -> Abstractness | None:
        """What each word does to the concreteness of a pair's caption; None while the models are
        busy with something else."""
        return asking.why_abstract(self.store, self.engine, pair_id)

    def playground(self, image: Image.Image, caption: str) -> PlaygroundResult:
        """One image, one caption, everything out; nothing is stored."""
        return asking.play(self.store, self.engine, image, caption)

    # ---------------------------------------------------------------- long work

    def score(
        self,
        dataset_id: int,
        progress: Progress = no_progress,
        suggestions: bool = True,
        cluster: Cluster | None = None,
    ) -> ScoreReport:
        """See `backend.pipeline.scoring.score_dataset`."""
        return scoring.score_dataset(
            self.store, self.engine, dataset_id, progress, suggestions, cluster
        )

    def correct(
        self,
        filter: QueueFilter,
        rule: correcting.Rule | None = None,
        limit: int | None = None,
        at_once: int = 1,
        progress: Progress = no_progress,
    ) -> CorrectionReport:
        """See `backend.pipeline.correcting.correct`; by the session's corrector, if it has one."""
        return correcting.correct(
            self.store, self.engine, filter, self.engine.corrector, rule, limit, at_once, progress
        )

    def distil(
        self,
        dataset_id: int,
        student: "LocalVisionLanguageModel",
        out: Path,
        teacher: ChatModel | None,
        mode: Mode,
        taught: int,
        held_out: float,
        recipe: "Recipe",
        progress: Progress = no_progress,
    ) -> DistillationReport:
        """See `backend.pipeline.distilling.distil`."""
        from backend.pipeline.distilling import distil  # peft and torch's trainers: only here

        return distil(
            self.store, self.engine, dataset_id, student, out, teacher, mode, taught, held_out,
            recipe, progress,
        )  # fmt: skip

    def dry_run(self, filter: QueueFilter, shown: int = 3) -> DryRun:
        """What would be sent to the session's corrector."""
        corrector = self.engine.corrector
        if corrector is None:
            raise SettingsError("Name a vision-language model: --vlm NAME. Nothing else is sent.")
        return correcting.dry_run(self.store, self.engine, filter, corrector, shown)

    def train(self, dataset_id: int, progress: Progress = no_progress) -> TrainReport:
        """See `backend.pipeline.training.train_candidate`."""
        return training.train_candidate(self.store, self.engine, dataset_id, progress)

    def classifiers(self, dataset_id: int) -> list[ClassifierView]:
        """All classifiers of a dataset, newest first."""
        with self.store.reading() as session:
            rows = classifier_queries.list_classifiers(session, dataset_id)
        return [
            ClassifierView(r.id, r.name, r.kind, r.basis, r.active, r.created_at, r.report)
            for r in rows
        ]

    def adopt(self, classifier_id: int, progress: Progress = no_progress) -> int:
        """Put a classifier to use (a new one, or an earlier one again) and rank all pairs by it.

        Returns the number of pairs whose probability was written.
        """
        return training.adopt(self.store, classifier_id, progress)

    def progress(self, dataset_id: int) -> ProgressView:
        """Pace, precision, calibration, and how many errors remain."""
        return progress_of(self.store, dataset_id)

    def plane(self, dataset_id: int) -> PlaneView:
        """Probability of error and concreteness at once, with thresholds for both."""
        return plane_of(self.store, dataset_id)

    def export_counts(self, dataset_id: int, choice: ExportChoice) -> ExportCounts:
        return exporting.count(self.store, dataset_id, choice)

    def export(
        self,
        dataset_id: int,
        choice: ExportChoice,
        out: str | Path,
        format: str = "imagefolder",
        overwrite: bool = False,
        progress: Progress = no_progress,
    ) -> ExportReport:
        """See `backend.pipeline.exporting.export`."""
        facts = exporting.facts(self.store, dataset_id)
        target = Path(out).expanduser().resolve()
        return exporting.export(
            self.store, dataset_id, choice, target, format, facts, overwrite, progress
        )

    def check_score_file(self, out: Path) -> None:
        """Raise before hours of scoring, not after, if `out` cannot be written."""
        scores_file.check(out)

    def write_scores(self, dataset_id: int, out: Path) -> int:
        """A row a pair (id, s_0, p_error, icc, suspects) to .jsonl or .parquet; returns rows."""
        return scores_file.write(self.store, dataset_id, out)

    # ---------------------------------------------------------------- background jobs

    @property
    def jobs(self) -> JobRunner:
        if self._jobs is None:
            self._jobs = JobRunner(self.store)
        return self._jobs

    def start_job(self, kind: str, dataset_id: int | None = None, **arguments: Any) -> int:
        """Start `import`, `score`, `train`, `adopt` or `export` in the background; its job id."""
        works = {
            "import": lambda progress: self.import_dataset(progress=progress, **arguments),
            "score": lambda progress: self.score(dataset_id or 0, progress, **arguments),
            "train": lambda progress: self.train(dataset_id or 0, progress),
            "adopt": lambda progress: {"pairs": self.adopt(progress=progress, **arguments)},
            "export": lambda progress: self.export(dataset_id or 0, progress=progress, **arguments),
        }
        if kind not in works:
            raise SettingsError(f"There is no job '{kind}'.")
        return self.jobs.start(kind, dataset_id, lambda progress: _figures(works[kind](progress)))

    def job(self, job_id: int) -> JobView:
        return self.jobs.job(job_id)

    def running_jobs(self) -> list[JobView]:
        return self.jobs.running()


def _is_blind(filter: QueueFilter) -> bool:
    return filter.reader is not None and filter.review == "unreviewed"


def _summary(session: Any, row: Any, known: tuple[int, int] | None = None) -> DatasetSummary:
    counts = pair_queries.counts(session, row.id, known)
    return DatasetSummary(
        id=row.id,
        name=row.name,
        source=row.source,
        root=row.root,
        total=counts.total,
        scored=counts.scored,
        reviewed=counts.reviewed,
        errors_found=sum(counts.by_decision.get(decision, 0) for decision in WRONG),
        by_decision=dict(counts.by_decision),
        problems=dataset_queries.count_problems(session, row.id),
    )


def _figures(result: Any) -> dict[str, Any]:
    """A job's result as plain JSON values."""
    plain = dataclasses.asdict(result) if dataclasses.is_dataclass(result) else dict(result)  # type: ignore[arg-type]
    return {key: _plain(value) for key, value in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def _free_name(path: Path, taken: set[str]) -> str:
    name = path.name if path.is_dir() else path.stem
    names = (name, *(f"{name}-{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in names if candidate not in taken)
