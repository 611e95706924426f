"""Import: rows of a dataset become pairs in the store; invalid rows are stored as problems."""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Any, Self, TypeVar

from sqlalchemy.orm import Session

from backend.counts import counted
from backend.datasets.cells import split_proof, trim
from backend.datasets.read_options import (
    DETECTED,
    ReadOptions,
    is_address,
    where_to_state,
    without_query,
)
from backend.datasets.reading import gzipped_tars, hub_download
from backend.datasets.reading.dataset_reader import DatasetReader, Problem, read_dataset
from backend.datasets.reading.folder_tables import has_tables_or_tars
from backend.datasets.reading.hub_copies import is_snapshot
from backend.datasets.reading.hub_names import HubName, is_hub_name
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.containers import relative_name
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import DatasetFormatError, DatasetNotFound, NotFound, SettingsError, UnsafePath
from backend.jobs.compare_source import (
    Comparer,
    Comparison,
    FirstImport,
    has_derived_id,
    revision,
)
from backend.jobs.dataset_reports import SHOWN_PROBLEMS, ImportReport
from backend.jobs.manage_datasets import look_for_pictures
from backend.jobs.moved_rows import content_key
from backend.jobs.scoring.known_pictures import UNKNOWN
from backend.jobs.scoring.vectors import forget_meanings
from backend.jobs.shared_pictures import shared_pictures
from backend.progress import Progress, no_progress
from backend.settings import default_data_directory
from backend.store import Store, all_computed_tables
from db.errors import MissingRow
from db.queries import change_queries, dataset_queries, pair_queries
from db.queries.dataset_queries import DatasetRow, ProblemRow
from db.queries.pair_queries import NewPair

#: Pairs per transaction: large enough to be fast, small enough to lose little.
BATCH: int = 500

#: Folders near a source in which missing images are looked for.
_MOST_FOLDERS = 200

#: Folders of the data folder that hold what the program computed or put away, not datasets.
_OWN_FOLDERS = ("answers", "deleted", "neighbours", "nonces", "search", "shards", "thumbnails")

#: Problems that are stored: a file of a few bytes may expand to a billion empty rows.
MOST_PROBLEMS = 1_000_000

#: What may happen to pairs whose row changed, and to those whose row is gone.
UPDATES = ("keep", "take")
GONE = ("keep", "hide")

Result = TypeVar("Result")


def import_dataset(
    store: Store,
    path: str | Path,
    name: str | None = None,
    progress: Progress = no_progress,
    data_directory: Path | None = None,
    update: str = "keep",
    gone: str = "keep",
    options: ReadOptions = DETECTED,
    fetch_limit: float = 20e9,
    anonymous: bool = False,
) -> ImportReport:
    """Read `path` into the dataset `name` (default: the folder's or file's name).

    Importing again adds new rows. Rows that changed since (`update`): 'keep' leaves their pairs as
    they are, 'take' takes the new captions and splits. Pairs without a row (`gone`): 'keep' or
    'hide'. Verdicts stay with their pairs in any case. A new dataset whose import fails, or
    without any valid row, leaves nothing behind; an interrupted import keeps the pairs read so
    far, if there are any, and importing again continues.
    `hf:OWNER/DATASET` (`anonymous`: without this machine's token) and addresses (`locations`) are
    fetched into the folder `fetched` of the data folder first, at most `fetch_limit` bytes, and
    compressed tars are unpacked there.
    Raises DatasetNotFound, DatasetFormatError, and SettingsError for an unknown choice.
    """
    if update not in UPDATES or gone not in GONE:
        raise SettingsError(
            f"Changed rows: one of ask, {', '.join(UPDATES)}; rows that are gone: one of "
            f"{', '.join(GONE)}.",
            terminal="Options: --update, --gone.",
        )
    data_directory = data_directory or default_data_directory()
    copies = _Copies(data_directory / "fetched", progress)
    try:
        source, plain, options = copies.local(path, data_directory, options, fetch_limit, anonymous)
        name = (name or plain).strip()
        if not name:
            raise SettingsError("A dataset needs a name.", **where_to_state("name"))
        return _import(store, source, name, progress, data_directory, update, gone, options)
    except Exception:
        # Ctrl-C or a kill keeps what was copied, and the same command resumes.
        copies.take_back()
        raise


class _Copies:
    """What an import puts into the folder `fetched`, to be read like every source: a dataset of the
    hub, files at an address, a snapshot of the hub's cache, unpacked tars."""

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._new: list[Path] = []

    def local(
        self,
        path: str | Path,
        data_directory: Path,
        options: ReadOptions,
        limit: float,
        anonymous: bool,
    ) -> tuple[Path, str, ReadOptions]:
        """The source on this machine, what its dataset is called by default, and how it is read.
        Raises as `import_dataset`."""
        if options.image_root:
            check_source(options.image_root, data_directory)
        if is_hub_name(path):
            dataset = HubName.parse(str(path))
            if dataset.subset is None:
                dataset = replace(dataset, subset=options.subset)
            options = options.model_copy(update={"subset": dataset.subset})
            self._progress(0, 0, f"Fetching {dataset}")
            self._add(hub_download.folder_for(dataset, self._folder))
            copy = hub_download.fetch(dataset, self._folder, limit, self._progress, anonymous)
            return copy, dataset.title, options
        if is_address(path):
            from backend.datasets.safe_files import locations  # fsspec is slow to import

            plain = PurePosixPath(without_query(str(path))).stem
            self._progress(0, 0, f"Fetching {trim(without_query(str(path)))}")
            self._add(locations.folder_for(str(path), self._folder))
            source = locations.fetch(str(path), self._folder, limit)
        else:
            source = check_source(path, data_directory)
            is_tar = gzipped_tars.is_gzipped_tar(source)
            plain = gzipped_tars.plain_name(source) if is_tar else source.stem
            plain = source.name if source.is_dir() else plain
        if is_snapshot(source):
            self._add(hub_download.snapshot_folder(source, self._folder))
            source = hub_download.copy_snapshot(source, self._folder)
        if gzipped_tars.gzipped_tars(source) and not (
            source.is_dir() and has_tables_or_tars(source)
        ):
            self._progress(0, 0, f"Unpacking {source.name}")
            self._add(gzipped_tars.unpacked_folder(source, self._folder))
            source = gzipped_tars.unpack(source, self._folder)
        return source, plain, options

    def _add(self, folder: Path) -> None:
        if not folder.exists():
            self._new.append(folder)

    def take_back(self) -> None:
        """Remove what this import copied; what was there before may belong to a dataset."""
        for folder in self._new:
            hub_download.discard(folder)


def _import(
    store: Store,
    source: Path,
    name: str,
    progress: Progress,
    data_directory: Path,
    update: str,
    gone: str,
    options: ReadOptions,
) -> ImportReport:
    began = datetime.now(UTC)
    reader = read_dataset(source, options)
    target = _Target(store, name, source, reader.root)
    comparison = Comparison()
    first = FirstImport(reader.root, target.time)
    if not target.is_new:
        progress(0, 0, f"Comparing {name}")
        comparison = _compare(store, target, first, partial(read_dataset, source, options, "hash"))
    takes = update == "take"
    added_count = already_there = 0
    digest = sha256()
    with _BadRows(target) as bad:
        reader.on_problem = bad.add
        rows = iter(reader)
        try:
            while batch := list(islice(rows, BATCH)):
                pairs = [_new_pair(pair, reader.root) for pair in batch]
                for pair in pairs:
                    digest.update(json.dumps(astuple(pair), sort_keys=True).encode())
                number, late = target.write(
                    partial(
                        _write_rows, rows=pairs, comparison=comparison, first=first, takes=takes
                    )
                )
                for row in late:
                    bad.add(_written_meanwhile(row))
                added_count += number
                already_there += len(pairs) - number - len(late)
                done = added_count + already_there
                # `total` counts lines, and a line may hold several captions.
                total = max(reader.total, done) if reader.total else 0
                progress(done, total, f"Reading {name}")
            if not added_count and not already_there and target.is_new:
                is_upload = data_directory in source.parents
                root = None if is_upload else _other_root(source, reader.missing)
                if root is None and reader.missing and reader.image_column:
                    raise DatasetFormatError(
                        f"{_nothing(name, bad)} {reader.image_column}",
                        **where_to_state("image_column"),
                    )
                if root is None:
                    raise DatasetFormatError(_nothing(name, bad))
                raise DatasetFormatError(
                    f"{_nothing(name, bad)} The pictures are in another folder.",
                    **where_to_state("image_root", quote(str(root))),
                )
            bad.save()
            target.write(
                partial(
                    dataset_queries.set_last_import,
                    digest=digest.hexdigest(),
                    imported_at=began,
                    read_options=_stated(options),
                )
            )
            hidden_ids = comparison.gone if gone == "hide" else []
            target.write(lambda session, _: change_queries.set_hidden(session, hidden_ids, True))
        except Exception:
            # Ctrl-C or a kill keeps what was committed, and the same command resumes.
            target.take_back()
            raise
    changes = comparison.changes
    if takes and changes.changed:
        forget_meanings(store, data_directory, target.id)
    notes = [*reader.notes, *bad.notes(), *_notes(comparison, takes, len(hidden_ids))]
    if leak := shared_pictures(store, target.id).in_words():
        notes.append(leak)
    return ImportReport(
        target.id, name, added_count, already_there, bad.count, tuple(bad.first), tuple(notes),
        changes=changes, update="take" if takes else "keep", hidden=len(hidden_ids),
        replaced=comparison.replaced, unproved=comparison.unproved,
    )  # fmt: skip


def _compare(
    store: Store, target: "_Target", first: FirstImport, read: Callable[[], DatasetReader]
) -> Comparison:
    """Compare all rows of the source with the dataset. Pairs whose rows have other ids get these;
    writes nothing else."""
    comparer = Comparer(store, target.id, first)
    _add_rows(comparer, read())
    if (moves := comparer.moves()).new_ids:
        target.write(partial(change_queries.renumber_pairs, new_ids=moves.new_ids))
        comparer = Comparer(store, target.id, first, moves.pairs)
        _add_rows(comparer, read())
    return comparer.result()


def _stated(options: ReadOptions) -> dict[str, Any]:
    """Those that are not at their defaults, for JSON; the folder of pictures by its absolute
    path."""
    stated = options.model_dump(mode="json", exclude_defaults=True)
    if options.image_root is not None:
        stated["image_root"] = str(typed_path(options.image_root))
    return stated


def _add_rows(comparer: Comparer, reader: DatasetReader) -> None:
    left_out: list[str] = []

    def note(problem: Problem) -> None:
        if problem.id:
            left_out.append(problem.id)
        else:
            comparer.add_unread(problem.file)

    reader.on_problem = note
    rows = iter(reader)
    while batch := list(islice(rows, BATCH)):
        comparer.add((_new_pair(pair, reader.root) for pair in batch), left_out)
        left_out.clear()
    comparer.add((), left_out)


def _write_rows(
    session: Session,
    dataset_id: int,
    rows: Sequence[NewPair],
    comparison: Comparison,
    first: FirstImport,
    takes: bool,
) -> tuple[int, list[NewPair]]:
    """Add new rows, revise known ones and show those that were hidden. Returns how many are new,
    and the rows that were written while the source was read, of which nothing is stored."""
    stored_rows = change_queries.stored_rows(session, dataset_id, [row.external_id for row in rows])
    matches = comparison.followed
    hidden_ids = [row.id for row in stored_rows.values() if row.hidden]
    new, late, revisions = [], [], []
    for row in rows:
        stored_row = stored_rows.get(row.external_id)
        if stored_row is None and has_derived_id(row):
            place, _ = split_proof(row.image_path)
            keys = (row.external_id, place, content_key(row))
            stored_row = next((matches[key] for key in keys if key in matches), None)
            hidden_ids += [stored_row.id] if stored_row is not None and stored_row.hidden else []
        if stored_row is None:
            (new if comparison.knows(row) else late).append(row)
        elif change := revision(row, stored_row, first, takes):
            revisions.append(change)
    number = pair_queries.add_pairs(session, dataset_id, new)
    if revisions:
        change_queries.revise_pairs(session, revisions, all_computed_tables(session))
    change_queries.set_hidden(session, hidden_ids, False)
    return number, late


def _written_meanwhile(row: NewPair) -> Problem:
    return Problem(
        split_proof(row.image_path)[0], row.source_row, "written meanwhile",
        "Its caption was written while the source was read. Import once more.", row.external_id,
    )  # fmt: skip


def _notes(comparison: Comparison, takes: bool, hidden_count: int) -> list[str]:
    """What happened to rows that are not what they were."""
    changes = comparison.changes
    # (number, what it counts, what follows if changes are taken, else)
    rows = (
        (changes.changed, "rows changed in the source",
         " and were taken; verdicts stay. Score the dataset again.",
         "; their pairs stay as they were."),
        (comparison.replaced, "pictures were replaced in the source. Their pairs are ",
         "undecided again, because their verdicts were about the old picture.",
         "neither shown, scored nor exported until you take the changes or restore the files."),
        (comparison.unproved, "pictures were imported by an earlier version, which did not keep "
         "what identifies them, and their files were written since. ",
         "They count as what they are now; verdicts stay. Score the dataset again.",
         "Check that they are still the same."),
    )  # fmt: skip
    notes = [
        f"{number:,} {what}{after_taking if takes else otherwise}"
        for number, what, after_taking, otherwise in rows
        if number
    ]
    if comparison.renumbered:
        notes.append(
            counted(comparison.renumbered, "row has another id", "rows have other ids")
            + " in the source than before. Found by picture and caption: verdicts stay."
        )
    if moved := changes.moved - comparison.renumbered:
        notes.append(
            counted(moved, "picture has moved", "pictures have moved")
            + " in the source; the new place is shown. Score the dataset again."
        )
    if changes.gone:
        gone = counted(hidden_count or changes.gone, "pair is gone", "pairs are gone")
        state = "hidden until the rows come back" if hidden_count else "still in queue and export"
        notes.append(f"{gone} from the source and {state}.")
    return notes


def check_source(path: str | Path, data_directory: Path) -> Path:
    """The absolute path of an import's source on this machine.
    Raises DatasetNotFound, SettingsError for an impossible path, and UnsafePath for the folder of
    the program's own data, one that contains it, or a cache in it."""
    source = typed_path(path)
    if not os.path.exists(source):  # also False if the name is too long
        raise DatasetNotFound(f"There is no file or folder '{path}'. Give a path that exists.")
    data = data_directory.resolve()
    if data.is_relative_to(source) or any(
        source.is_relative_to(data / folder) for folder in _OWN_FOLDERS
    ):
        raise UnsafePath(
            f"'{path}' contains the program's own data (database and caches). Move the dataset to "
            "a folder of its own."
        )
    return source


def check_named(path: str | Path, data_directory: Path) -> None:
    """Raise, as far as can be told without reading, what an import of this path, address or name
    on the hub would: see `check_source`, and SettingsError."""
    if is_hub_name(path):
        HubName.parse(str(path))
    elif not is_address(path):
        check_source(path, data_directory)


def _nothing(name: str, bad: "_BadRows") -> str:
    examples = "".join(
        f" {problem.file}{'' if problem.row is None else f', row {problem.row}'}: {problem.message}"
        for problem in bad.first[:3]
    )
    return f"No row of '{name}' could be imported ({bad.count:,} were left out).{examples}"


def _other_root(source: Path, names: Sequence[str]) -> Path | None:
    """The folder in which the missing images are, if it is near the source: one level above, below
    or beside it."""
    near = source if source.is_dir() else source.parent
    folders = [near.parent, *(f for around in (near, near.parent) for f in _folders_in(around))]
    for folder in folders:
        if names and all((folder / name).is_file() for name in names):
            return folder
    return None


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [path for path in islice(folder.iterdir(), _MOST_FOLDERS) if path.is_dir()]
    except OSError:
        return []


class _Target:
    """The target dataset. A new one is created together with its first pairs, and removed again
    if the import fails. The same name for another folder is refused, unless the dataset's pictures
    are there now."""

    def __init__(self, store: Store, name: str, source: Path, root: Path) -> None:
        self._store, self._name, self._source, self._root = store, name, source, root
        self._id: int | None = None
        self.is_new = True
        self.time = datetime.now(UTC)
        with store.reading() as session:
            try:
                dataset = dataset_queries.get_dataset(session, name)
            except (MissingRow, NotFound):
                return
        self.time = dataset.created_at
        if Path(dataset.root) != root:
            self._follow(dataset)
        # An import does not ask a model which pictures it knows: scoring lists these anew.
        store.write(dataset_queries.clear_problems, dataset.id, keep=UNKNOWN)
        self.is_new = False
        self._id = dataset.id

    def _follow(self, dataset: DatasetRow) -> None:
        """The dataset at its new root, if its pictures are there. Raises SettingsError."""
        reason = "which is still there."
        if not os.path.isdir(dataset.root):
            sample_size, missing, example = look_for_pictures(self._store, dataset, self._root)
            reason = "" if sample_size and not missing else f"and not to this one. {example}"
        if reason:
            raise SettingsError(
                f"The name '{self._name}' belongs to a dataset in {dataset.root}, {reason}",
                **where_to_state("name"),
            )
        self._store.write(
            dataset_queries.move_dataset, dataset.id, str(self._source), str(self._root)
        )

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
            dataset = (
                self._id
                or dataset_queries.create_dataset(
                    session, self._name, str(self._source), str(self._root)
                ).id
            )
            result = write(session, dataset)
        self._id = dataset
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
        self.first: list[ProblemRow] = []
        self._target = target
        self._waiting: list[ProblemRow] = []
        self._early = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._early.close()

    def add(self, problem: Problem) -> None:
        row = ProblemRow(
            problem.file, problem.row, problem.kind, problem.message, problem.id or None
        )
        self.count += 1
        if self.count <= SHOWN_PROBLEMS:
            self.first.append(row)
        if self.count > MOST_PROBLEMS:
            return
        self._waiting.append(row)
        if len(self._waiting) < BATCH:
            return
        if self._target.exists:
            self.save()
        else:
            self._early.writelines(f"{json.dumps(astuple(row))}\n" for row in self._waiting)
            self._waiting.clear()

    def notes(self) -> list[str]:
        """Notes about problems that were not stored."""
        remaining = self.count - MOST_PROBLEMS
        are = counted(remaining, "further problem is", "further problems are")
        return [f"{are} not listed."] if remaining > 0 else []

    def save(self) -> None:
        self._early.seek(0)
        while lines := list(islice(self._early, BATCH)):
            early = [ProblemRow(*json.loads(line)) for line in lines]
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
