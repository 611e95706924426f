"""The single entry point to engine and store for pages, commands and notebooks.

    from backend.settings import load_settings
    from backend.workspace import ExportChoice, QueueFilter, Workspace

    workspace = Workspace(load_settings())
    dataset = workspace.find_or_import("my-photographs")
    workspace.jobs.score(dataset)
    for row in workspace.review.queue_page(QueueFilter(dataset, "unreviewed")).rows:
        print(row.p_error, row.caption)
    workspace.jobs.export(dataset, ExportChoice(), "my-photographs-curated")

`review` holds the interactive operations, `jobs` the long-running ones, `accounts` the users; the
methods here manage datasets. Every method is one complete transaction or query and returns frozen
records.
"""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from backend.accounts.folders import Folders
from backend.accounts.team_accounts import Team
from backend.datasets.cells import split_proof
from backend.datasets.safe_files.regular_files import typed_path
from backend.datasets.safe_files.uploads import Uploads
from backend.errors import DatasetNotFound, NotFound
from backend.jobs import manage_datasets
from backend.jobs.dataset_reports import Deletion, Relocation
from backend.jobs.export_choice import ExportChoice
from backend.jobs.import_dataset import check_source
from backend.jobs.manage_datasets import relocate
from backend.jobs.scored_demo import OPENING
from backend.jobs.scoring.dataset_models import DatasetEngines, with_default
from backend.jobs.scoring.known_pictures import UNKNOWN
from backend.loaded_models import Engine
from backend.operations.workspace_jobs import Jobs
from backend.progress import Progress, no_progress
from backend.review.operations import Review
from backend.review.queue import MOST_COUNTED
from backend.review.views import DatasetSummary
from backend.settings import DEMO, Settings, user_home
from backend.store import open_database
from db.column_types import now
from db.queries import (
    dataset_queries,
    pair_queries,
    phrase_queries,
    request_queries,
    run_queries,
)
from db.queries.blind_review import NOBODY
from db.queries.classifier_queries import ClassifierRow
from db.queries.dataset_queries import ProblemRow
from db.queries.pair_queries import ReviewCounts
from db.queries.queue_filter import Cursor, Group, QueueFilter, QueuePage, QueueRow, Range
from db.queries.verdict_acts import VerdictRow
from db.queries.view_queries import ViewRow

__all__ = [
    "MOST_COUNTED", "NOBODY", "ClassifierRow", "Cursor", "ExportChoice", "Group", "QueueFilter",
    "QueuePage", "QueueRow", "Range", "ReviewCounts", "VerdictRow", "ViewRow", "Workspace",
]  # fmt: skip


class Workspace:
    """A store, the models of a session, and everything that can be done with both."""

    def __init__(self, settings: Settings) -> None:
        self.store = open_database(settings.database_url)
        self.settings = settings = with_default(self.store, settings)
        self.engine = Engine(settings)
        self.engines = DatasetEngines(self.store, self.engine)
        self.accounts = Team(self.store)
        self.review = Review(self.store, self.engines, settings)
        self.jobs = Jobs(self.store, self.engines, settings, self.review)
        self.jobs.exports = (user_home() or settings.data_directory) / "traced-export"
        self.models = self.jobs.models
        self.uploads = Uploads(
            settings.data_directory / "uploads", int(settings.upload_limit * 1_000_000_000)
        )
        #: Where pages may import from and export to; None: anywhere this process may.
        self.folders: Folders | None = None

    def confine(self) -> None:
        """Restrict background jobs to the folders in the settings from now on: several people use
        this server, and they must not choose which files it reads and writes."""
        settings = self.settings
        self.folders = Folders.from_settings(
            settings.import_root, settings.export_root, settings.data_directory
        )
        self.jobs.guard = self.folders.check_options
        self.jobs.exports = self.folders.exports[0]

    def seen_by(self, reader: str) -> "Workspace":
        """The same workspace for one of several curators: of pairs that still need their own
        opinion, what others said is hidden. NOBODY has judged nothing."""
        workspace = copy.copy(self)
        workspace.store = self.store.seen_by(reader)
        workspace.jobs = self.jobs.seen_by(reader)
        workspace.review = workspace.jobs.review
        return workspace

    def become(self, other: "Workspace") -> None:
        """Be another one from now on, for pages that hold this one."""
        vars(self).update(vars(other))

    # ---------------------------------------------------------------- datasets

    def datasets(self) -> list[DatasetSummary]:
        with self.store.reading() as session:
            return [_summary(session, row) for row in dataset_queries.list_datasets(session)]

    def summary(self, dataset_id: int) -> DatasetSummary:
        """Counts of a dataset; `review.counts` has fewer of them and is faster."""
        with self.store.reading() as session:
            return _summary(session, dataset_queries.get_dataset(session, dataset_id))

    def find(self, name: str) -> int:
        """The id of the dataset with that name. Raises DatasetNotFound, which lists them all."""
        try:
            with self.store.reading() as session:
                return dataset_queries.get_dataset(session, name).id
        except NotFound as problem:
            raise DatasetNotFound(str(problem)) from problem

    def find_or_import(self, name_or_path: str, progress: Progress = no_progress) -> int:
        """A dataset by its name, or by a path that is imported first (if repeated: only new rows).

        If another folder of that name is already known (two clones, two users of one database),
        the new dataset is called name-2.
        """
        try:
            return self.find(name_or_path)
        except DatasetNotFound:
            path = typed_path(name_or_path)
            if not path.exists():
                raise
        name_of = {Path(summary.source): summary.name for summary in self.datasets()}
        name = name_of.get(path) or _free_name(path, set(name_of.values()))
        return self.jobs.import_dataset(path, name=name, progress=progress).dataset_id

    def deletion_preview(self, dataset_id: int) -> Deletion:
        """A preview of a deletion."""
        going = manage_datasets.deletion_preview(self.store, dataset_id)
        others = [
            path
            for row in self.datasets()
            if row.id != dataset_id
            for path in (row.source, row.root)
        ]
        return replace(going, is_upload=self.uploads.is_used_alone(going.root, others))

    def delete_dataset(self, dataset_id: int, keep: Path | None = None) -> Deletion:
        """See `backend.jobs.manage_datasets.delete_dataset`; verdicts are kept in the folder
        `keep`, by default next to the store."""
        folder = typed_path(keep or self.settings.data_directory / "deleted")
        is_upload = self.deletion_preview(dataset_id).is_upload
        deletion = manage_datasets.delete_dataset(self.store, dataset_id, folder)
        return replace(deletion, is_upload=is_upload)

    def relocate_dataset(self, dataset_id: int, path: str | Path) -> Relocation:
        """See `backend.jobs.manage_datasets.relocate`. Raises as an import from that path."""
        if self.jobs.guard is not None:
            path = self.jobs.guard("import", {"path": str(path)}).get("path", path)
        source = check_source(path, self.settings.data_directory)
        return relocate(self.store, dataset_id, source)

    def rename_dataset(self, dataset_id: int, name: str) -> None:
        manage_datasets.rename_dataset(self.store, dataset_id, name)

    def set_guidelines(self, dataset_id: int, text: str) -> None:
        """The guidelines for the dataset's curators, in Markdown; "" removes them. Raises
        SettingsError."""
        manage_datasets.set_guidelines(self.store, dataset_id, text)

    def guidelines(self, dataset_id: int) -> str:
        """The text given to `set_guidelines`."""
        with self.store.reading() as session:
            return dataset_queries.get_dataset(session, dataset_id).guidelines

    def problems(self, dataset_id: int, offset: int = 0, limit: int = 50) -> list[ProblemRow]:
        """Rows that could not be imported, in file order."""
        with self.store.reading() as session:
            rows = dataset_queries.list_problems(session, dataset_id, offset, limit)
        return [replace(row, file=split_proof(row.file)[0]) for row in rows]

    def remove_abandoned_uploads(self) -> int:
        """Remove uploads older than a day that belong to no dataset (any more)."""
        paths = [path for row in self.datasets() for path in (row.source, row.root)]
        return self.uploads.remove_abandoned(paths)

    def remove_leftovers(self) -> None:
        """What nobody needs any more: abandoned uploads, and requests of pages long closed."""
        self.remove_abandoned_uploads()
        self.store.write(request_queries.forget_old, now())

    def start(self) -> int:
        """The id of the dataset that the app opens with: that of the last verdict, else the newest.
        The demo, `prepare`d, if there is none."""
        with self.store.reading() as session:
            dataset_id = dataset_queries.last_used(session)
        return dataset_id or self.prepare(str(DEMO))

    def opening_pair(self, dataset_id: int) -> int | None:
        """The pair with which a page opens that names none: of the demo, until somebody has judged
        a pair of it, one that shows what this program does. None: the head of the queue."""
        summary = self.summary(dataset_id)
        if summary.source != str(DEMO) or summary.reviewed:
            return None
        return self.review.first_pair(QueueFilter(dataset_id, external_id=OPENING))

    def prepare(self, name_or_path: str) -> int:
        """Make a dataset ready to be opened: import it now if needed, score it in the background;
        returns its id.

        The first page waits neither for the scores nor for a model: the job checks whether the
        model knows the pictures, and the review page shows its refusal.
        """
        dataset_id = self.find_or_import(name_or_path)
        summary = self.summary(dataset_id)
        with self.store.reading() as session:
            left_out = dataset_queries.count_pairs_with_problem(session, dataset_id, UNKNOWN)
        is_scored = summary.scored + left_out >= summary.total and self.jobs.classifiers(dataset_id)
        under_way = {(job.kind, job.dataset_id) for job in self.jobs.running()}
        if not is_scored and ("score", dataset_id) not in under_way:
            self.jobs.start("score", dataset_id)
        return dataset_id


def _summary(session: Any, row: Any) -> DatasetSummary:
    counts = pair_queries.counts(session, row.id)
    return DatasetSummary(
        id=row.id,
        name=row.name,
        source=row.source,
        root=row.root,
        total=counts.total,
        scored=counts.scored,
        reviewed=counts.reviewed,
        errors_found=counts.errors_found,
        by_decision=dict(counts.by_decision),
        problems=dataset_queries.count_problems(session, row.id),
        other_languages=phrase_queries.is_in_other_languages(
            run_queries.latest_run(session, row.id, "support")
        ),
    )


def _free_name(path: Path, used_names: set[str]) -> str:
    name = path.name if path.is_dir() else path.stem
    names = (name, *(f"{name}-{number}" for number in range(2, len(used_names) + 3)))
    return next(candidate for candidate in names if candidate not in used_names)
