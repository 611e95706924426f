"""Import: rows of a dataset become pairs in the store; invalid rows are stored as problems."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import astuple
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy.orm import Session

from backend.datasets import gzipped, hub_datasets
from backend.datasets.containers import relative_name
from backend.datasets.reading import Problem, SourcePair, read_dataset
from backend.datasets.typed_path import typed_path
from backend.errors import DatasetFormatError, DatasetNotFound, SettingsError
from backend.jobs.reports import ImportReport, ProblemView
from backend.progress import Progress, no_progress
from backend.store import Store
from db.errors import MissingRow
from db.queries import datasets as dataset_queries
from db.queries import pairs as pair_queries
from db.queries.datasets import NewProblem
from db.queries.pairs import NewPair

#: Pairs per transaction: large enough to be fast, small enough to lose little.
BATCH: int = 500

#: Problems included in a report; the others are in the store.
SHOWN_PROBLEMS = 20

#: Problems that are stored: a file of a few bytes may expand to a billion empty rows.
MOST_PROBLEMS = 1_000_000

Result = TypeVar("Result")


def import_dataset(
    store: Store,
    path: str | Path,
    name: str | None = None,
    progress: Progress = no_progress,
    fetched: Path = Path("fetched"),
    **columns: Any,
) -> ImportReport:
    """Read `path` into the dataset `name` (default: the folder's or file's name).

    Importing again adds new rows and leaves everything else, including verdicts, unchanged. A new
    dataset whose import fails, or without any valid row, leaves nothing behind; an interrupted
    import keeps the pairs read so far, if there are any, and importing again continues.
    `hf:OWNER/DATASET` is fetched from the Hugging Face hub into the folder `fetched` first, and
    compressed tars are unpacked there.
    `columns` go to `backend.datasets.reading.read_dataset`. Raises DatasetNotFound and
    DatasetFormatError.
    """
    if str(path).startswith(hub_datasets.PREFIX):
        name = name or str(path).removeprefix(hub_datasets.PREFIX).rpartition("/")[2]
        progress(0, 0, f"Fetching {path}")
        path = hub_datasets.fetch(str(path), fetched)
    source = check_source(path)
    plain = gzipped.plain_name(source) if gzipped.is_gzipped_tar(source) else source.stem
    name = (name or (source.name if source.is_dir() else plain)).strip()
    if not name:
        raise SettingsError("A dataset needs a name: give one with --name.")
    if gzipped.gzipped_tars(source) and not (source.is_dir() and any(source.glob("*.tar"))):
        progress(0, 0, f"Unpacking {source.name}")
        source = gzipped.unpack(source, fetched)
    reader = read_dataset(source, **columns)
    target = _Target(store, name, source, reader.root)
    added = already_there = 0
    with _BadRows(target) as bad:
        reader.on_problem = bad.add
        rows = iter(reader)
        try:
            while batch := list(islice(rows, BATCH)):
                pairs = [_new_pair(pair, reader.root) for pair in batch]
                result = target.write(partial(pair_queries.add_pairs, rows=pairs))
                added += result.added
                already_there += result.already_there
                done = added + already_there
                # `total` counts lines, and a line may hold several captions.
                total = max(reader.total, done) if reader.total else 0
                progress(done, total, f"Reading {name}")
            if not added and not already_there and target.is_new:
                raise DatasetFormatError(_nothing(name, bad))
            bad.save()
        except Exception:
            # Ctrl-C or a kill keeps what was committed, and the same command resumes.
            target.take_back()
            raise
    notes = [*reader.notes, *bad.notes()]
    return ImportReport(
        target.id, name, added, already_there, bad.count, tuple(bad.first), tuple(notes)
    )


def check_source(path: str | Path) -> Path:
    """The absolute path of the import source; sources on the Hugging Face hub are not resolved.
    Raises DatasetNotFound, and SettingsError for an impossible path."""
    if str(path).startswith(hub_datasets.PREFIX):
        return Path(path)
    source = typed_path(path)
    if not os.path.exists(source):  # also False if the name is too long
        raise DatasetNotFound(f"There is no file or folder '{path}'. Give a path that exists.")
    return source


def _nothing(name: str, bad: "_BadRows") -> str:
    shown = "".join(
        f" {problem.file}{'' if problem.row is None else f', row {problem.row}'}: {problem.message}"
        for problem in bad.first[:3]
    )
    return f"No row of '{name}' could be imported ({bad.count:,} were left out).{shown}"


class _Target:
    """The target dataset. A new one is created together with its first pairs, and removed again
    if the import fails. The same name for another folder is refused: its image paths would
    point into the wrong root."""

    def __init__(self, store: Store, name: str, source: Path, root: Path) -> None:
        self._store, self._name, self._source, self._root = store, name, source, root
        self._id: int | None = None
        self.is_new = True
        with store.writing() as session:
            try:
                known = dataset_queries.get_dataset(session, name)
            except MissingRow:
                return
            if Path(known.root) != root:
                raise SettingsError(
                    f"The name '{name}' belongs to a dataset in {known.root}. "
                    "Choose another name with --name."
                )
            dataset_queries.clear_problems(session, known.id)
        self.is_new = False
        self._id = known.id

    @property
    def id(self) -> int:
        assert self._id is not None
        return self._id

    @property
    def exists(self) -> bool:
        return self._id is not None

    def write(self, write: Callable[[Session, int], Result]) -> Result:
        """Call `write` in a transaction, with the dataset's id; a new dataset is created in the
        same one."""
        with self._store.writing() as session:
            made = (
                self._id
                or dataset_queries.create_dataset(
                    session, self._name, str(self._source), str(self._root)
                ).id
            )
            result = write(session, made)
        self._id = made
        return result

    def take_back(self) -> None:
        """Remove a dataset that this import has created, unless it is already in use."""
        if not self.is_new or self._id is None:
            return
        with self._store.writing(large=True) as session:
            if not pair_queries.counts(session, self._id).reviewed:
                dataset_queries.delete_dataset(session, self._id)


class _BadRows:
    """Invalid rows, written as they are read; they replace those of an earlier import of the
    dataset.

    Until the first pair of a new dataset they are kept in a temporary file: memory does not grow,
    and an import that is stopped or killed by then leaves no dataset behind.
    """

    def __init__(self, target: _Target) -> None:
        self.count = 0
        self.first: list[ProblemView] = []
        self._target = target
        self._waiting: list[NewProblem] = []
        self._early = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._early.close()

    def add(self, problem: Problem) -> None:
        about = (problem.file, problem.row, problem.kind, problem.message, problem.id or None)
        self.count += 1
        if self.count <= SHOWN_PROBLEMS:
            self.first.append(ProblemView(*about))
        if self.count > MOST_PROBLEMS:
            return
        self._waiting.append(NewProblem(*about))
        if len(self._waiting) < BATCH:
            return
        if self._target.exists:
            self.save()
        else:
            self._early.writelines(f"{json.dumps(astuple(row))}\n" for row in self._waiting)
            self._waiting.clear()

    def notes(self) -> list[str]:
        """Notes about problems that were not stored."""
        left = self.count - MOST_PROBLEMS
        return [f"{left:,} further problems are not listed."] if left > 0 else []

    def save(self) -> None:
        self._early.seek(0)
        while lines := list(islice(self._early, BATCH)):
            early = [NewProblem(*json.loads(line)) for line in lines]
            self._target.write(partial(dataset_queries.add_problems, problems=early))
        self._early.seek(0)
        self._early.truncate()
        self._target.write(partial(dataset_queries.add_problems, problems=self._waiting))
        self._waiting.clear()


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
