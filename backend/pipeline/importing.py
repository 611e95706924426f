"""Import: rows of a dataset become pairs of the store; what cannot go in is kept as a problem."""

from itertools import islice
from pathlib import Path
from typing import Any

from backend.datasets import hub
from backend.datasets.containers import relative_name
from backend.datasets.reading import Problem, SourcePair, read_dataset
from backend.errors import DatasetNotFound, SettingsError
from backend.pipeline import Progress, no_progress
from backend.store import Store
from backend.views import ImportReport, ProblemView
from db.errors import MissingRow
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries.datasets import NewProblem
from db.queries.pairs import NewPair

#: Pairs a transaction: large enough to be fast, small enough to lose little.
BATCH = 500

#: Problems that a report carries itself; all of them are in the store.
SHOWN_PROBLEMS = 20


def import_dataset(
    store: Store,
    path: str | Path,
    name: str | None = None,
    progress: Progress = no_progress,
    fetched: Path = Path("fetched"),
    **columns: Any,
) -> ImportReport:
    """Read `path` into the dataset `name` (default: the folder's or file's name).

    Importing again adds what is new and leaves everything else, verdicts included, as it is.
    `hf:OWNER/DATASET` is fetched from the Hugging Face hub into the folder `fetched` first.
    `columns` go to `backend.datasets.reading.read_dataset`. Raises DatasetNotFound and
    DatasetFormatError before anything is written.
    """
    if str(path).startswith(hub.PREFIX):
        name = name or str(path).removeprefix(hub.PREFIX).rpartition("/")[2]
        progress(0, 0, f"Fetching {path}")
        path = hub.fetch(str(path), fetched)
    source = Path(path).expanduser()
    if not source.exists():
        raise DatasetNotFound(f"There is no file or folder '{source}'. Give a path that exists.")
    source = source.resolve()
    name = (name or (source.name if source.is_dir() else source.stem)).strip()
    if not name:
        raise SettingsError("A dataset needs a name: give one with --name.")
    reader = read_dataset(source, **columns)
    dataset_id = _dataset(store, name, source, reader.root)
    bad = _BadRows(store, dataset_id)
    reader.on_problem = bad.tell
    rows = iter(reader)
    added = already_there = 0
    while batch := list(islice(rows, BATCH)):
        with store.writing() as session:
            result = pair_queries.add_pairs(
                session, dataset_id, [_new_pair(pair, reader.root) for pair in batch]
            )
        added += result.added
        already_there += result.already_there
        progress(added + already_there, reader.total or 0, f"Reading {name}")
    bad.save()
    return ImportReport(dataset_id, name, added, already_there, bad.count, tuple(bad.first))


class _BadRows:
    """Rows that do not go in, written as they come, in place of those that an earlier import of
    the dataset has found."""

    def __init__(self, store: Store, dataset_id: int) -> None:
        self.count = 0
        self.first: list[ProblemView] = []
        self._store, self._dataset_id = store, dataset_id
        self._waiting: list[NewProblem] = []
        with store.writing() as session:
            dataset_queries.clear_problems(session, dataset_id)

    def tell(self, problem: Problem) -> None:
        about = (problem.file, problem.row, problem.kind, problem.message, problem.id or None)
        self.count += 1
        if self.count <= SHOWN_PROBLEMS:
            self.first.append(ProblemView(*about))
        self._waiting.append(NewProblem(*about))
        if len(self._waiting) >= BATCH:
            self.save()

    def save(self) -> None:
        with self._store.writing() as session:
            dataset_queries.add_problems(session, self._dataset_id, self._waiting)
        self._waiting.clear()


def _dataset(store: Store, name: str, source: Path, root: Path) -> int:
    """The dataset of that name; a new one if there is none. The same name for another folder is
    refused: its image paths would point into the wrong root."""
    with store.writing() as session:
        try:
            known = dataset_queries.get_dataset(session, name)
        except MissingRow:
            return dataset_queries.create_dataset(session, name, str(source), str(root)).id
        if Path(known.root) != root:
            raise SettingsError(
                f"The name '{name}' belongs to a dataset in {known.root}. "
                "Choose another name with --name."
            )
        return known.id


def _new_pair(pair: SourcePair, root: Path) -> NewPair:
    return NewPair(
        external_id=pair.id,
        image_path=relative_name(pair.image_path, root),
        caption=pair.caption,
        split=pair.split,
        source_file=pair.file,
        source_row=pair.row,
        extra=pair.extra,
    )
