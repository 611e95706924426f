"""What operations work with, and those that other programs call directly: `workspace.jobs`."""

from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from backend.accounts.team_accounts import Team
from backend.datasets.read_options import DETECTED, ReadOptions, is_address
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import SettingsError, TracedError
from backend.jobs import (
    export_counts,
    export_dataset,
    export_decisions,
    export_facts,
    export_steps,
    import_dataset,
    own_captions,
    retrain,
)
from backend.jobs.dataset_reports import ImportReport
from backend.jobs.export_choice import ExportChoice, ExportDecision
from backend.jobs.export_reports import ExportCounts, ExportReport
from backend.jobs.model_manager import Models
from backend.jobs.scoring import known_pictures
from backend.jobs.scoring.dataset_models import DatasetEngines, model_name
from backend.progress import Progress, no_progress
from backend.review.operations import Review
from backend.settings import Settings
from backend.store import Store
from db.queries import classifier_queries, dataset_queries
from db.queries.classifier_queries import ClassifierRow
from db.queries.pair_queries import PairRow


class Context:
    """Store, models, review and settings as one person sees them. `reader`: who that is; None: an
    operator, who sees all. `exports`: where exports go for which no folder is named, each into one
    of its own."""

    def __init__(
        self,
        store: Store,
        engines: DatasetEngines,
        settings: Settings,
        review: Review,
        models: Models,
        reader: str | None = None,
    ) -> None:
        self.store = store
        self.engines = engines
        self.settings = settings
        self.review = review
        self.models = models
        self.reader = reader
        self.exports = settings.data_directory / "exports"

    def check_may_choose_models(self) -> None:
        """Raise SettingsError for a curator who may not change the models of this machine."""
        self.check_may_settle("Only an adjudicator may change the models of this machine.")

    def check_may_settle(self, refusal: str) -> None:
        """Raise SettingsError, which says this, for a curator who is no adjudicator."""
        if self.reader is not None and not Team(self.store).may_settle(self.reader):
            raise SettingsError(refusal)

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
            self.settings.data_directory,
            update,
            gone,
            options,
            self.settings.upload_limit * 1e9,
            anonymous,
        )

    def needs_model(self, dataset_id: int) -> str:
        """Why the model that would score the dataset cannot score its pictures; "" if it can, or if
        it cannot be loaded, which scoring reports."""
        dataset = self.store.read(dataset_queries.get_dataset, dataset_id)
        engine = self.engines.of_dataset(dataset)
        try:
            return known_pictures.recognise(self.store, engine, dataset).refusal
        except TracedError:
            return ""

    def warning_of(self, dataset_id: int, *models: str | None) -> str:
        """See `backend.jobs.own_captions.warning_of`."""
        return own_captions.warning_of(self.store, dataset_id, *models)

    def model_of(self, dataset_id: int) -> str:
        """The model that would score the dataset."""
        return model_name(self.engines.of_dataset(dataset_id).settings.model)

    def recognition(self, dataset_id: int, model: str) -> known_pictures.Recognition | None:
        """How many of a sample of the dataset's pictures the model knows; None if it has no test of
        that, as general-purpose models, or if it or the pictures cannot be opened."""
        try:
            dataset = self.store.read(dataset_queries.get_dataset, dataset_id)
            engine = self.engines.of_dataset(dataset, model)
            recognition = known_pictures.examine(self.store, engine, dataset)
        except TracedError:
            return None
        return recognition if recognition.sampled else None

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
        """See `backend.jobs.export_counts.count`."""
        return export_counts.count(self.store, dataset_id, choice)

    def export_preview(
        self, dataset_id: int, choice: ExportChoice, limit: int = 3
    ) -> list[tuple[PairRow, ExportDecision]]:
        """The first pairs that an export would write, in import order, with what it writes."""
        with closing(export_decisions.remaining(self.store, dataset_id, choice)) as pairs:
            return list(islice(pairs, limit))

    def export(
        self,
        dataset_id: int,
        choice: ExportChoice,
        out: str | Path,
        format: str = "imagefolder",
        overwrite: bool = False,
        progress: Progress = no_progress,
        **options: Any,
    ) -> ExportReport:
        """See `backend.jobs.export_dataset.export`; to an address, its `export_to_address`.
        `options`: those of `export_steps`."""
        author = self.reader or self.settings.author
        export_steps.begin(self.store, dataset_id, author, options)
        facts = export_facts.facts(self.store, dataset_id)
        write = partial(
            export_dataset.export, self.store, dataset_id, choice, format=format, facts=facts,
            progress=progress,
        )  # fmt: skip
        if is_address(out):
            return export_dataset.export_to_address(
                write, str(out), self.settings.data_directory, overwrite
            )
        return write(typed_path(out), overwrite=overwrite)
