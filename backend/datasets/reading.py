"""Pairs from a folder of images with metadata, a table with image paths and captions, or shards.

A reader never stops at an invalid row: it reports the row (file, number, what is wrong, what to do)
and continues. Several captions of one image become several pairs. Images are opened while reading,
so that every imported pair can be shown and scored.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from backend.datasets import gzipped, hub_clone
from backend.datasets.annotations import annotation_rows, is_mm_imdb, mm_imdb_rows, where_to_get
from backend.datasets.cells import (
    BadCell,
    Embedded,
    json_value,
    shown,
    size_of,
    text_of,
    text_problem,
)  # fmt: skip
from backend.datasets.columns import WEAK_IDS, Columns, find_columns
from backend.datasets.containers import SEPARATOR, ImageFile, Member, file_of, relative_name
from backend.datasets.conversations import plain_rows
from backend.datasets.daemon_pool import DaemonPool
from backend.datasets.export_row import MARK
from backend.datasets.formulas import as_it_was
from backend.datasets.images import check_image
from backend.datasets.on_disk import SeenIds
from backend.datasets.rows import TableRow
from backend.datasets.shards import saved_tables, shards_of, split_of, tar_rows, zip_rows
from backend.datasets.sidecars import has_images, has_sidecars, metadata_rows, sidecar_rows
from backend.datasets.tables import ENDINGS, row_count, rows_of, text_encoding
from backend.datasets.text_files import known_encoding
from backend.datasets.typed_path import typed_path
from backend.errors import DatasetFormatError, DatasetNotFound, ImageError, UnsafePath

#: Names of the metadata file in an `imagefolder`, and of the table in an export without images.
METADATA = (
    "metadata.jsonl", "metadata.csv", "metadata.parquet", "data.jsonl", "data.csv", "data.parquet",
)  # fmt: skip
#: Maximum number of characters; a cell with far more indicates a broken file.
LONGEST_CAPTION = 20_000
LONGEST_ID = 255
#: Maximum number of characters of a row's other columns, which are stored with each of its
#: captions.
MOST_EXTRA = 1_000_000
_FILES = (*ENDINGS, ".json", ".tar", ".zip", ".arrow")
_WORKERS = 4
_AHEAD = 256
#: Rows inspected to detect columns before any is read, and the maximum of their characters.
_HEAD, _LARGEST_HEAD = 1000, 8_000_000
#: A column with a larger share of repeated values is not an id column, whatever its name.
_REPEATED = 0.1
_MOST_NOTES = 20
#: Caption sources other than tables and caption files.
CAPTIONS_FROM = ("metadata",)


@dataclass(frozen=True)
class SourcePair:
    """One pair as read from the dataset. `extra`: its other columns, as JSON values."""

    id: str
    image_path: ImageFile
    caption: str
    split: str | None
    extra: dict[str, Any]
    file: str
    row: int


@dataclass(frozen=True)
class Problem:
    """A row that is left out. `kind`: one of a few fixed names; `message`: for the user."""

    file: str
    row: int | None
    kind: str
    message: str
    id: str = ""


@dataclass
class DatasetReader:
    """Iterates over the valid pairs; afterwards `problems` contains the invalid rows. If
    `on_problem` is given, it is called for each instead, so that memory use is bounded.

    `root`: the folder that no image path may leave; `total`: number of rows, if known beforehand;
    `open_images`: False leaves it to the caller to check which files are images; `encoding`,
    `delimiter`: of text tables, None detects them. `splits`: the splits of whole tables.
    `caption_from` "metadata": captions are embedded in the images. `notes`: automatic decisions,
    such as a detected encoding; complete after the iteration.
    """

    root: Path
    tables: list[Path]
    columns: dict[str, str | None]
    total: int | None = None
    open_images: bool = True
    on_problem: Callable[[Problem], None] | None = None
    problems: list[Problem] = field(default_factory=list)
    encoding: str | None = None
    delimiter: str | None = None
    splits: dict[Path, str] = field(default_factory=dict)
    caption_from: str | None = None
    notes: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[SourcePair]:
        self.problems.clear()
        self.notes.clear()
        with closing(SeenIds()) as seen:
            for table in self.tables:
                yield from self._read(table, seen)

    def _read(self, table: Path, seen: SeenIds) -> Iterator[SourcePair]:
        name = shown(
            table.relative_to(self.root).as_posix()
            if table.is_relative_to(self.root)
            else table.name,
            1000,
        )
        name = table.name if name == "." else name
        candidates = self._candidates(table, name)
        with DaemonPool(_WORKERS) as pool:
            while batch := list(islice(candidates, _AHEAD)):
                paths = list(dict.fromkeys(candidate.pair.image_path for candidate in batch))
                check = _problem_of if self.open_images else _missing
                wrong = dict(zip(paths, pool.map(check, paths), strict=True))
                for candidate in batch:
                    pair = candidate.pair
                    if message := wrong[pair.image_path]:
                        kind = "unreadable image" if _exists(pair) else "missing image"
                        self._report(name, pair.row, kind, message, pair.id)
                    elif seen.add(pair.id):
                        yield pair
                    elif candidate.id_is_a_guess and seen.add(
                        made := _derived_id(pair.image_path, self.root, pair.caption)
                    ):
                        self._note(
                            f"'{name}': ids in '{candidate.id_is_a_guess}' are not unique; pairs "
                            "that share one have ids derived from their image and caption."
                        )
                        yield replace(pair, id=made)
                    else:
                        self._report(
                            name, pair.row, "duplicate id",
                            f"The id '{pair.id[:80]}' was used before. Give every pair an id of "
                            "its own, or read without ids (--no-id-column).",
                            pair.id,
                        )  # fmt: skip

    def _candidates(self, table: Path, name: str) -> Iterator["_Candidate"]:
        ours = (table.parent / MARK).is_file() or (table.parent.parent / MARK).is_file()
        rows = self._rows(table, name)
        if ours:
            rows = (
                row if row.values is None else replace(row, values=_as_exported(table, row.values))
                for row in rows
            )
        rows = plain_rows(rows, self.columns["caption"])
        # The columns are those of all the first rows together: in JSONL a row may lack some, which
        # is reported for that row.
        head = _head_of(rows)
        good = [row.values for row in head if row.values is not None]
        columns = self._columns_of(good, name) if good else None
        for row in chain(head, rows):
            if row.values is None:
                self._report(name, row.number, "unreadable row", row.problem)
                continue
            columns = columns or self._columns_of([row.values], name)
            yield from self._pairs(row, columns, table, name)
        if columns is None and len(self.tables) > 1:
            self._report(name, None, "empty file", "It holds no rows that can be read.")
        elif columns is None:
            first = next((f" Row {row.number}: {row.problem}" for row in head), "")
            raise DatasetFormatError(f"'{name}' holds no rows that can be read.{first}")

    def _rows(self, table: Path, name: str) -> Iterator[TableRow]:
        given = known_encoding(self.encoding) if self.encoding else None

        def read_as(encoding: str) -> None:
            self._note(f"Some texts in '{name}' are read as {encoding}.")

        if table.is_dir():
            if self.caption_from == "metadata":
                return metadata_rows(table)
            if is_mm_imdb(table):
                return mm_imdb_rows(table, given, read_as)
            return sidecar_rows(table, given, read_as)
        ending = table.suffix.lower()
        if ending == ".tar":
            return tar_rows(table, given, read_as)
        if ending == ".zip":
            return zip_rows(table, given, self.delimiter, self._note)
        encoding = text_encoding(table, given)
        if encoding is not None and encoding.note:
            self._note(encoding.note)
        if _is_annotations(table):
            return annotation_rows(table, encoding.name if encoding else "utf-8-sig")
        return rows_of(table, encoding.name if encoding else None, self.delimiter)

    def _columns_of(self, rows: list[dict[str, Any]], name: str) -> Columns:
        """Detect the role of each column; a column with repeated values is used for ids only if
        requested."""
        names = list(dict.fromkeys(key for row in rows for key in row))
        embedded = {
            key for row in rows for key, value in row.items() if isinstance(value, Embedded)
        }
        columns = find_columns(names, name, **self.columns, embedded=embedded)
        if columns.id is None or self.columns.get("id") is not None:
            return columns
        values = [text for row in rows if (text := _plain_text(row.get(columns.id)))]
        repeated = len(values) - len(set(values))
        weak = columns.id.strip().lower() in WEAK_IDS
        if repeated > (0 if weak else _REPEATED * len(values)):
            self._note(
                f"'{name}': values of '{columns.id}' repeat, so they are not ids; ids are derived "
                f"from image and caption. (To use them anyway: --id-column {columns.id}.)"
            )
            return replace(columns, id=None)
        return columns

    def _pairs(
        self, row: TableRow, columns: Columns, table: Path, name: str
    ) -> Iterator["_Candidate"]:
        """The pairs of a row; any error is reported as a problem of this row."""
        try:
            yield from self._pairs_of(row, columns, table, name)
        except BadCell as problem:
            self._report(name, row.number, "unusable row", f"{problem}.")
        except Exception as problem:  # of any type: the other rows must still be read
            message = f"This row cannot be read: {problem or type(problem).__name__}."
            self._report(name, row.number, "unusable row", message)

    def _pairs_of(
        self, row: TableRow, columns: Columns, table: Path, name: str
    ) -> Iterator["_Candidate"]:
        assert row.values is not None
        given = _of_column(text_of, row.values, columns.image, embedded=True)
        if not given:
            self._report(name, row.number, "no image", f"The column '{columns.image}' is empty.")
            return
        if "\0" not in given and (problem := text_problem(given)):
            raise BadCell(f"The image path '{shown(given)}': {problem}")
        path = self._inside(table if table.is_dir() else table.parent, given)
        if path is None:
            self._report(
                name, row.number, "unsafe path",
                f"'{shown(given)}' lies outside the dataset's folder. Move the image into it, or "
                "give their common parent folder with --image-root.",
            )  # fmt: skip
            return
        if problem := text_problem(relative_name(path, self.root)):
            raise BadCell(f"The image path '{shown(str(path))}': {problem}")
        used = {columns.image, columns.caption, columns.id, columns.split}
        extra = {
            _of_column(json_value, {key: key}, key): _of_column(json_value, row.values, key)
            for key in row.values
            if key not in used and key
        }
        if (size := size_of(extra)) > MOST_EXTRA:
            raise BadCell(
                f"The other columns hold {size:,} characters; at most {MOST_EXTRA:,} are allowed. "
                "Leave out the largest"
            )
        split = (
            _of_column(text_of, row.values, columns.split)
            if columns.split
            else self._split_of(table)
        )
        if problem := text_problem(split):
            raise BadCell(f"The split '{shown(split)}': {problem}")
        given_id = _of_column(text_of, row.values, columns.id) if columns.id else ""
        guess = "" if self.columns.get("id") is not None else columns.id or ""
        captions = row.values.get(columns.caption)
        several = isinstance(captions, list)
        for number, caption in enumerate(captions if several else [captions]):
            text = _of_column(text_of, {columns.caption: caption}, columns.caption)
            identity = given_id or _derived_id(path, self.root, text)
            if several and given_id:
                identity = f"{given_id}#{number}"
            if problem := _caption_problem(text) or _id_problem(identity):
                kind = "empty caption" if not text.strip() else "unusable row"
                self._report(name, row.number, kind, problem, identity)
                continue
            pair = SourcePair(
                identity, path, text, split[:255] or None, extra, name, row.number or 0
            )
            yield _Candidate(pair, guess if given_id and guess.strip().lower() in WEAK_IDS else "")

    def _split_of(self, table: Path) -> str:
        """The split of a table: for shards and subfolders with metadata files, inferred from the
        name of the shard or its folder; "" if unknown."""
        if table in self.splits:
            return self.splits[table]
        ending = table.suffix.lower()
        shard = ending == ".arrow" or (ending == ".parquet" and len(self.tables) > 1)
        inner = table.name in METADATA and table.parent != self.root
        return split_of(table) or "" if shard or inner else ""

    def _inside(self, base: Path, given: str) -> ImageFile | None:
        """The image's absolute path; None if it is outside the root, including through links."""
        if "\0" in given:
            return None
        given, separator, inner = given.partition(SEPARATOR)
        # Relative to the table first, then to the root. For a table outside the root (an export
        # whose paths lead back to its source), the former is used only if it leads into the root.
        try:
            if base == self.root:
                paths = [(base / given).resolve()]
            else:
                paths = [(start / given).resolve() for start in (base, self.root)]
                if not any(place.is_relative_to(self.root) for place in (base, paths[0])):
                    del paths[0]
            path = next((path for path in paths if path.exists()), paths[0])
        except (OSError, RuntimeError):
            return None
        if not path.is_relative_to(self.root):
            return None
        return Member(path, inner) if separator else path

    def _report(self, file: str, row: int | None, kind: str, message: str, id: str = "") -> None:
        problem = Problem(file, row, kind, message, shown(id, LONGEST_ID))
        (self.on_problem or self.problems.append)(problem)

    def _note(self, note: str) -> None:
        if note not in self.notes and len(self.notes) < _MOST_NOTES:
            self.notes.append(note)


@dataclass(frozen=True)
class _Candidate:
    """A pair whose image has not been opened yet. `id_is_a_guess`: the detected column of its id if
    other pairs may share that id; else empty."""

    pair: SourcePair
    id_is_a_guess: str


def read_dataset(
    path: Path,
    image_column: str | None = None,
    caption_column: str | None = None,
    id_column: str | None = None,
    split_column: str | None = None,
    image_root: Path | None = None,
    open_images: bool = True,
    encoding: str | None = None,
    delimiter: str | None = None,
    subset: str | None = None,
    caption_from: str | None = None,
) -> DatasetReader:
    """A reader of the folder or table at `path`. `id_column`: "" means none; `open_images`,
    `encoding`, `delimiter`, `caption_from`: see DatasetReader. `subset`: the configuration to read
    from a clone of a Hub dataset with several.

    Raises DatasetNotFound or DatasetFormatError, stating what is expected, if there is nothing to
    read; UnsafePath if a table is a link to elsewhere.
    """
    path = path.resolve()
    if text_problem(str(path)):
        raise DatasetFormatError(
            f"The path '{shown(str(path), 1000)}' is not UTF-8 and cannot be stored in a database. "
            "Rename the file or folder."
        )
    if not path.exists():
        raise DatasetNotFound(f"There is no file or folder '{path}'.{where_to_get(path)}")
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise DatasetFormatError(
            f"Cells cannot be separated by '{shown(delimiter)}' (--delimiter): give one character."
        )
    splits: dict[Path, str] = {}
    if caption_from is not None:
        root = _folder_of_captions(path, caption_from)
        tables = [root]
    elif path.is_dir():
        tables, splits = _tables_of(path, subset)
        root = path
    else:
        if path.suffix.lower() not in _FILES:
            raise DatasetFormatError(_not_a_table(path))
        tables, root = [path], path.parent
    if image_root is not None:
        root = typed_path(image_root)
        if not os.path.isdir(root):
            raise DatasetNotFound(f"There is no folder '{root}' (--image-root).")
        if text_problem(str(root)):
            raise DatasetFormatError(
                f"The path '{shown(str(root), 1000)}' is not UTF-8. Rename it."
            )
    _check_links(tables, (path, root))
    for table in tables:
        hub_clone.check_pointer(table)
    counts = [None if _is_annotations(table) else row_count(table) for table in tables]
    total = sum(count for count in counts if count is not None) if None not in counts else None
    columns = {
        "image": image_column,
        "caption": caption_column,
        "id": id_column,
        "split": split_column,
    }
    return DatasetReader(
        root, tables, columns, total, open_images, encoding=encoding, delimiter=delimiter,
        splits=splits, caption_from=caption_from,
    )  # fmt: skip


def _check_links(tables: list[Path], folders: tuple[Path, ...]) -> None:
    """Raise UnsafePath if a table is a link that leads out of the given folders."""
    for table in tables:
        resolved = table.resolve()
        if resolved not in folders and not any(resolved.is_relative_to(f) for f in folders):
            raise UnsafePath(
                f"'{shown(table.name)}' is a link that leads outside the dataset's folder, to "
                f"'{shown(str(resolved), 500)}'. Give that file itself, with --image-root if its "
                "images lie here."
            )


def _head_of(rows: Iterator[TableRow]) -> list[TableRow]:
    """The first rows, up to `_HEAD` rows or `_LARGEST_HEAD` characters."""
    head, size = [], 0
    for row in islice(rows, _HEAD):
        head.append(row)
        size += size_of(row.values or {})
        if size > _LARGEST_HEAD:
            break
    return head


def _of_column(
    convert: Callable[[Any], Any], values: dict[str, Any], column: str, embedded: bool = False
) -> Any:
    """A cell's converted value. Raises BadCell naming the column. `embedded`: it may be an image's
    address."""
    value = values.get(column)
    if embedded and isinstance(value, Embedded):
        return str(value)
    try:
        return convert(value)
    except BadCell as problem:
        raise BadCell(f"The column '{shown(column)}': {problem}") from problem


def _plain_text(value: Any) -> str:
    try:
        return text_of(value)
    except BadCell:
        return ""


def _exists(pair: SourcePair) -> bool:
    try:
        return file_of(pair.image_path).exists()
    except OSError:
        return False


def _tables_of(folder: Path, subset: str | None) -> tuple[list[Path], dict[Path, str]]:
    """The tables to read from a folder, by its content, and the splits of those that have one."""
    # MM-IMDb has its films in a folder, which is treated as the table.
    films = next((f for f in (folder, folder / "dataset") if f.is_dir() and is_mm_imdb(f)), None)
    if films is not None:
        return [films], {}
    if saved := saved_tables(folder):
        return saved, {}
    ours = (folder / MARK).is_file() and subset is None
    if not ours and (listed := hub_clone.listed_files(folder, subset)) is not None:
        return listed.tables, listed.splits
    if tables := _metadata_files(folder) or shards_of(folder) or _tables_in(folder):
        return tables, {}
    if has_sidecars(folder):
        return [folder], {}
    if clone := hub_clone.found_files(folder):
        return clone.tables, clone.splits
    raise DatasetFormatError(_not_a_dataset(folder))


def _tables_in(folder: Path) -> list[Path]:
    """Parquet files, except the lists that img2dataset writes next to image folders; else COCO
    caption files."""
    parquet = [p for p in sorted(folder.glob("*.parquet")) if not p.with_suffix("").is_dir()]
    return parquet or sorted(folder.glob("captions_*.json"))


def _folder_of_captions(path: Path, caption_from: str) -> Path:
    if caption_from not in CAPTIONS_FROM:
        raise DatasetFormatError(
            f"Captions cannot be read from '{shown(caption_from)}' (--caption-from). There is: "
            f"{', '.join(CAPTIONS_FROM)}."
        )
    if not path.is_dir():
        raise DatasetFormatError(
            f"'{path.name}' is not a folder: for captions that are written in the images "
            "(--caption-from metadata) give the folder of the images."
        )
    return path


#: Unsupported formats that users try, by extension: what they are and what to do.
_OTHER_FORMS = {
    ".gz": "compressed; unpack it, and give what is in it",
    ".xz": "compressed; unpack it, and give what is in it",
    ".bz2": "compressed; unpack it, and give what is in it",
    ".7z": "compressed; unpack it, and give what is in it",
    ".rar": "compressed; unpack it, and give what is in it",
    ".zst": "compressed; unpack it, and give what is in it",
    ".xlsx": "an Excel workbook; save its sheet as CSV (UTF-8)",
    ".xls": "an Excel workbook; save its sheet as CSV (UTF-8)",
    ".pkl": "a pickle, which may run arbitrary code; write it as Parquet (DataFrame.to_parquet)",
    ".pickle": "a pickle, which may run arbitrary code; write it as Parquet (DataFrame.to_parquet)",
    ".feather": "a Feather file; write it as Parquet (DataFrame.to_parquet)",
    ".h5": "an HDF5 file; write it as Parquet or as a folder of images",
    ".hdf5": "an HDF5 file; write it as Parquet or as a folder of images",
    ".tfrecord": "a TFRecord; write it as WebDataset or as a folder of images",
    ".txt": "a text file; if it is a table, name it .csv or .tsv; if it is a caption, give its "
    "folder",
}


def _not_a_table(path: Path) -> str:
    if gzipped.is_gzipped_tar(path):
        form = "a compressed tar, which only an import reads; unpack it (gunzip) for other uses"
    else:
        form = _OTHER_FORMS.get(path.suffix.lower(), "")
    seen = f" is {form}. It" if form else ""
    return (
        f"'{shown(path.name)}'{seen} is not a dataset: give a folder with metadata.jsonl or "
        f"metadata.csv, or a file that ends in one of {', '.join(_FILES)}."
    )


def _not_a_dataset(folder: Path) -> str:
    """The contents of the folder, what is missing, and what to do."""
    try:
        inside = sorted(p.name + "/" if p.is_dir() else p.name for p in folder.iterdir())
    except OSError as problem:
        return f"The folder '{folder}' cannot be read: {problem.strerror or problem}."
    few = ", ".join(f"'{shown(name, 60)}'" for name in inside[:8])
    more = f" and {len(inside) - 8:,} more" if len(inside) > 8 else ""
    if gzipped.gzipped_tars(folder):
        saw = "compressed tars, which only an import reads; unpack them (gunzip) for other uses"
    elif has_images(folder):
        saw = (
            f"images ({few}{more}) without captions: there is no metadata.jsonl or metadata.csv, "
            "and no a.txt or a.caption next to an a.jpg. Captions embedded in the images are read "
            "with --caption-from metadata"
        )
    else:
        saw = f"{few}{more}, and no metadata.jsonl or metadata.csv" if inside else "nothing"
    return (
        f"The folder '{folder}' holds {saw}. Put a metadata.jsonl next to the images with "
        'a line per image, such as {"file_name": "0001.jpg", "caption": "A dog on a beach."}'
    )


def _as_exported(table: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Undo the changes of our own export in a row: remove apostrophes before formulas, and unpack
    the source's other columns from `extra`."""
    if table.suffix.lower() in (".csv", ".tsv"):
        values = {k: as_it_was(v) if isinstance(v, str) else v for k, v in values.items()}
    packed = values.get("extra")
    try:
        extra = json.loads(packed) if isinstance(packed, str) and packed else {}
    except ValueError:
        return values
    if not isinstance(extra, dict):
        return values
    return {**extra, **{key: value for key, value in values.items() if key != "extra"}}


def _is_annotations(table: Path) -> bool:
    return table.is_dir() or table.suffix.lower() == ".json"


def _metadata_files(folder: Path) -> list[Path]:
    """metadata.* or data.* of the folder itself, or of its subfolders (train, test, …)."""
    tables = [folder / name for name in METADATA if (folder / name).is_file()][:1]
    if not tables:
        for inner in sorted(p for p in folder.iterdir() if p.is_dir()):
            tables += [inner / name for name in METADATA if (inner / name).is_file()][:1]
    return tables


def _missing(path: ImageFile) -> str:
    return "" if file_of(path).is_file() else f"There is no file '{path.name}'."


def _problem_of(path: ImageFile) -> str:
    try:
        check_image(path)
    except ImageError as problem:
        return str(problem)
    except OSError as problem:
        return f"'{path.name}' cannot be opened: {problem.strerror or problem}."
    return ""


def _caption_problem(text: str) -> str:
    if not text.strip():
        return "The caption is empty."
    if len(text) > LONGEST_CAPTION:
        return f"The caption has {len(text)} characters; at most {LONGEST_CAPTION} are allowed."
    if problem := text_problem(text):
        return f"The caption cannot be stored: {problem}."
    return ""


def _id_problem(identity: str) -> str:
    if len(identity) > LONGEST_ID:
        return f"The id has {len(identity)} characters; at most {LONGEST_ID} are allowed."
    if "\0" in identity or not identity.isprintable():
        return "The id holds characters that cannot be shown."
    return ""


def _derived_id(path: ImageFile, root: Path, caption: str) -> str:
    """A deterministic id for datasets without ids, derived from image path and caption."""
    name = relative_name(path, root)
    digest = hashlib.sha256(f"{name}\n{caption}".encode("utf-8", "replace")).hexdigest()[:12]
    return f"{name[-200:]}:{digest}"
