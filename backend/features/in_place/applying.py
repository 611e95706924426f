"""`apply`: from decisions to the files of the source, and back."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from backend.accounts.folders import Folders
from backend.bundled import ASSETS
from backend.datasets.cells import split_proof
from backend.datasets.export_row import MARK
from backend.datasets.read_options import ReadOptions, is_address
from backend.datasets.safe_files.regular_files import typed_path
from backend.errors import DatasetError, UnsafePath
from backend.features.in_place import writing
from backend.features.in_place.captions_in_text import CaptionChange
from backend.features.in_place.queries import CaptionRow, captions_of_rows
from backend.features.in_place.report import ApplyReport, LeftAlone
from backend.features.in_place.source_files import CaptionGroup, FileChange, SourceFiles
from backend.jobs.export_choice import ExportChoice
from backend.jobs.export_decisions import decided_pairs
from backend.progress import Progress, no_progress
from backend.settings import Settings
from backend.store import Store
from db.queries import dataset_queries
from db.queries.dataset_queries import DatasetRow

#: Characters of a diff that a report holds.
_MOST_DIFF = 2_000_000


def apply(
    store: Store,
    dataset_id: int,
    data_directory: Path,
    column: str = "",
    encoding: str | None = None,
    delimiter: str | None = None,
    is_dry_run: bool = False,
    progress: Progress = no_progress,
) -> ApplyReport:
    """Write each caption that was decided, as an export would, where the source has the old one.
    Raises DatasetError for a source that is not the user's own, and for one that cannot be
    written."""
    files = _source_files(store, dataset_id, data_directory, column, encoding, delimiter)
    if is_dry_run:
        changes, left_alone = _plan(store, dataset_id, files, progress)
        diff, is_whole = writing.unified_diff(changes, _MOST_DIFF)
        return _report(dataset_id, changes, left_alone, diff=diff, diff_is_whole=is_whole,
                       is_dry_run=True)  # fmt: skip
    with writing.alone(files.folder) as copies:
        changes, left_alone = _plan(store, dataset_id, files, progress)
        wanting = [change for change in changes if change.splices]
        run = None
        if wanting:
            run, written_files, failures = writing.write(files.folder, copies, wanting, progress)
            left_alone += failures
            changes = written_files + [change for change in changes if not change.splices]
        is_kept = run is not None and run.is_dir()
        return _report(dataset_id, changes, left_alone, copies=str(run) if is_kept else "")


def put_back(
    store: Store, dataset_id: int, data_directory: Path, progress: Progress = no_progress
) -> ApplyReport:
    """Undo the newest run. Raises as `apply`."""
    files = _source_files(store, dataset_id, data_directory)
    with writing.alone(files.folder) as copies:
        count, left_alone, run = writing.put_back(files.folder, copies, progress)
    return ApplyReport(
        dataset_id, files=count, left_alone=tuple(left_alone), copies=str(run or ""), is_undo=True
    )


def can_put_back(store: Store, dataset_id: int, data_directory: Path) -> bool:
    """Whether a run has written into this source and has not been undone. Raises as `apply`."""
    return writing.has_run(_source_files(store, dataset_id, data_directory).folder)


def _report(
    dataset_id: int, changes: Iterable[FileChange], left_alone: Iterable[LeftAlone], **more: object
) -> ApplyReport:
    changes = list(changes)
    return ApplyReport(
        dataset_id,
        captions=sum(change.captions for change in changes),
        files=sum(bool(change.splices) for change in changes),
        already_there=sum(change.already_there for change in changes),
        left_alone=tuple(left_alone),
        **more,  # type: ignore[arg-type]
    )


def why_not(store: Store, dataset_id: int, data_directory: Path) -> str:
    """Why nothing can be written into the source of this dataset; "" if it can."""
    try:
        _source_files(store, dataset_id, data_directory)
    except DatasetError as problem:
        return str(problem)
    return ""


def _source_files(
    store: Store,
    dataset_id: int,
    data_directory: Path,
    column: str = "",
    encoding: str | None = None,
    delimiter: str | None = None,
) -> SourceFiles:
    dataset = store.read(dataset_queries.get_dataset, dataset_id)
    if reason := not_own(dataset, data_directory):
        raise DatasetError(f"{reason} Export the dataset instead.")
    source = typed_path(dataset.source)
    if not source.exists():
        raise DatasetError(
            f"The source '{source}' is gone. Put it back, or export the dataset instead."
        )
    if ((source if source.is_dir() else source.parent) / MARK).is_file():
        raise DatasetError(f"'{source}' is an export of this program. Export the dataset instead.")
    return files_of(dataset, column, encoding, delimiter)


def not_own(dataset: DatasetRow, data_directory: Path) -> str:
    """Why the source is none of the user's own files; "" if it is."""
    if is_address(dataset.source) or dataset.source.startswith("hf:"):
        return f"'{dataset.source}' is not on this machine."
    source = typed_path(dataset.source)
    if any(source.is_relative_to(place) for place in (data_directory.resolve(), ASSETS)):
        return f"'{source}' is kept by this program."
    return ""


def may_import(dataset: DatasetRow, settings: Settings, has_login: bool) -> bool:
    """Whether a page may import the source again, and it is the user's own: where people log in,
    the folders of the settings are those that pages may read."""
    if not_own(dataset, settings.data_directory):
        return False
    folders = Folders.from_settings(
        settings.import_root, settings.export_root, settings.data_directory
    )
    try:
        if has_login:
            folders.check_options("import", {"path": dataset.source, **dataset.read_options})
    except UnsafePath:
        return False
    return True


def files_of(
    dataset: DatasetRow,
    column: str = "",
    encoding: str | None = None,
    delimiter: str | None = None,
) -> SourceFiles:
    """The files of the source; what is not stated is as it was stated at the import."""
    read = ReadOptions.parse(dataset.read_options)
    return SourceFiles(
        typed_path(dataset.source), Path(dataset.root), column or read.caption_column or "",
        encoding or read.encoding, delimiter or read.delimiter,
    )  # fmt: skip


def _plan(
    store: Store, dataset_id: int, files: SourceFiles, progress: Progress
) -> tuple[list[FileChange], list[LeftAlone]]:
    """What is to be written, and the files for which that cannot be done."""
    progress(0, 0, "Comparing with the source")
    changes: list[FileChange] = []
    left_alone: list[LeftAlone] = []
    for planned in files.plan(_groups(store, dataset_id, files)):
        if isinstance(planned, FileChange):
            changes.append(planned)
        else:
            left_alone.append(planned)
    return changes, left_alone


def _groups(store: Store, dataset_id: int, files: SourceFiles) -> Iterator[CaptionGroup]:
    """The rows and pictures with a caption that changes, with all captions that they have."""
    new_captions: dict[int, str] = {
        pair.id: outcome.caption
        for pair, outcome, _ in decided_pairs(store, dataset_id, ExportChoice())
        if not outcome.left_out_because and outcome.caption != pair.caption and not pair.hidden
    }
    if not new_captions:
        return

    def key_of(row: CaptionRow) -> tuple[str, object]:
        return row.file, split_proof(row.image)[0] if files.is_beside(row.file) else row.number

    rows: dict[tuple[str, object], list[CaptionRow]] = {}
    with store.reading() as session:
        for row in captions_of_rows(session, dataset_id):
            if row.pair_id in new_captions:
                rows[key_of(row)] = []
        for row in captions_of_rows(session, dataset_id):
            if (group := rows.get(key_of(row))) is not None:
                group.append(row)
    for group in rows.values():
        first = group[0]
        yield CaptionGroup(
            first.file, first.number, split_proof(first.image)[0],
            tuple(row.external_id.removesuffix(f"#{row.kind}") for row in group),
            tuple(
                CaptionChange(row.caption, new_captions.get(row.pair_id, row.caption), row.kind)
                for row in group
            ),
        )  # fmt: skip
