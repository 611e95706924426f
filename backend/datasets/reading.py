"""Pairs from a folder of images with metadata, a table with image paths and captions, or shards.

A reader never stops at a bad row: it reports the row (file, number, what is wrong, what to do) and
goes on. Several captions of one image are several pairs. Images are opened while reading, so that
what goes in can be shown and scored.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

from backend.datasets.annotations import annotation_rows, is_mm_imdb, mm_imdb_rows, where_to_get
from backend.datasets.columns import Columns, find_columns
from backend.datasets.containers import SEPARATOR, ImageFile, Member, file_of, relative_name
from backend.datasets.export_row import MARK
from backend.datasets.formulas import as_it_was
from backend.datasets.images import check_image
from backend.datasets.on_disk import SeenIds
from backend.datasets.shards import saved_tables, shards_of, split_of, tar_rows, zip_rows
from backend.datasets.tables import ENDINGS, TableRow, row_count, rows_of
from backend.errors import DatasetFormatError, DatasetNotFound, ImageError

#: Names of the metadata file in an `imagefolder`, and of the table in an export without images.
METADATA = (
    "metadata.jsonl", "metadata.csv", "metadata.parquet", "data.jsonl", "data.csv", "data.parquet",
)  # fmt: skip
#: A caption may be long, but a whole book in a cell is a broken file.
LONGEST_CAPTION = 20_000
LONGEST_ID = 255
_FILES = (*ENDINGS, ".json", ".tar", ".zip", ".arrow")
_WORKERS = 4
_AHEAD = 256


@dataclass(frozen=True)
class SourcePair:
    """One pair as it stands in the dataset. `extra`: its other columns, as JSON values."""

    id: str
    image_path: ImageFile
    caption: str
    split: str | None
    extra: dict[str, Any]
    file: str
    row: int


@dataclass(frozen=True)
class Problem:
    """A row that does not go in. `kind` is short and fixed, `message` is for the reader."""

    file: str
    row: int | None
    kind: str
    message: str
    id: str = ""


@dataclass
class DatasetReader:
    """Iterate over it for the good pairs; afterwards `problems` holds the bad rows, unless each is
    to be told at once (`on_problem`): then memory does not grow with the dataset, however bad.

    `root`: the folder that no image path may leave; `total`: rows, if known beforehand;
    `open_images`: False leaves it to the caller to find out which of the files are images.
    """

    root: Path
    tables: list[Path]
    columns: dict[str, str | None]
    total: int | None = None
    open_images: bool = True
    on_problem: Callable[[Problem], None] | None = None
    problems: list[Problem] = field(default_factory=list)

    def __iter__(self) -> Iterator[SourcePair]:
        self.problems.clear()
        with closing(SeenIds()) as seen:
            for table in self.tables:
                yield from self._read(table, seen)

    def _read(self, table: Path, seen: SeenIds) -> Iterator[SourcePair]:
        name = (
            table.relative_to(self.root).as_posix()
            if table.is_relative_to(self.root)
            else table.name
        )
        candidates = self._candidates(table, name)
        with ThreadPoolExecutor(_WORKERS) as pool:
            while batch := list(islice(candidates, _AHEAD)):
                paths = list(dict.fromkeys(pair.image_path for pair in batch))
                check = _problem_of if self.open_images else _missing
                wrong = dict(zip(paths, pool.map(check, paths), strict=True))
                for pair in batch:
                    if message := wrong[pair.image_path]:
                        kind = (
                            "unreadable image"
                            if file_of(pair.image_path).exists()
                            else "missing image"
                        )
                        self._report(name, pair.row, kind, message, pair.id)
                    elif seen.add(pair.id):
                        yield pair
                    else:
                        self._report(
                            name, pair.row, "duplicate id",
                            f"The id '{pair.id[:80]}' was there before. Give every pair its own.",
                            pair.id,
                        )  # fmt: skip

    def _candidates(self, table: Path, name: str) -> Iterator[SourcePair]:
        columns: Columns | None = None
        ours = (table.parent / MARK).is_file() or (table.parent.parent / MARK).is_file()
        for row in _rows_of(table):
            if row.values is None:
                self._report(name, row.number, "unreadable row", row.problem)
                continue
            if ours:
                row = replace(row, values=_as_exported(table, row.values))
            values = row.values or {}
            # The first row that can be read says which columns there are; in JSONL others may
            # lack some, which is then a problem of those rows.
            columns = columns or find_columns(values, name, **self.columns)
            yield from self._pairs(row, columns, table, name)
        if columns is None and len(self.tables) > 1:
            self._report(name, None, "empty file", "It holds no rows that can be read.")
        elif columns is None:
            raise DatasetFormatError(f"'{name}' holds no rows that can be read.")

    def _pairs(
        self, row: TableRow, columns: Columns, table: Path, name: str
    ) -> Iterator[SourcePair]:
        assert row.values is not None
        given = _text(row.values.get(columns.image))
        if not given:
            self._report(name, row.number, "no image", f"The column '{columns.image}' is empty.")
            return
        path = self._inside(table if table.is_dir() else table.parent, given)
        if path is None:
            self._report(
                name, row.number, "unsafe path",
                f"'{given[:120]}' leads out of the dataset's folder. Move the image into it, or "
                "name the folder above both with --image-root.",
            )  # fmt: skip
            return
        used = {columns.image, columns.caption, columns.id, columns.split}
        extra = {key: _json(value) for key, value in row.values.items() if key not in used and key}
        split = _text(row.values.get(columns.split)) if columns.split else self._split_of(table)
        captions = row.values.get(columns.caption)
        several = isinstance(captions, list)
        for number, caption in enumerate(captions if several else [captions]):  # type: ignore[arg-type]
            text = _text(caption)
            own = _text(row.values.get(columns.id)) if columns.id else ""
            identity = own or _made_id(path, self.root, text)
            if several and own:
                identity = f"{own}#{number}"
            if problem := _caption_problem(text) or _id_problem(identity):
                kind = "empty caption" if not text.strip() else "unusable row"
                self._report(name, row.number, kind, problem, identity)
                continue
            yield SourcePair(identity, path, text, split[:255] or None, extra, name, row.number)

    def _split_of(self, table: Path) -> str:
        """By the name of the shard or of its folder, where a dataset comes in shards."""
        ending = table.suffix.lower()
        shard = ending == ".arrow" or (ending == ".parquet" and len(self.tables) > 1)
        return split_of(table) or "" if shard else ""

    def _inside(self, base: Path, given: str) -> ImageFile | None:
        """The image's absolute path; None if it leaves the root, by links too."""
        if "\0" in given:
            return None
        given, separator, inner = given.partition(SEPARATOR)
        # Beside the table first, if that lies in the root; then from the root.
        starts = [base, self.root] if base.is_relative_to(self.root) else [self.root]
        try:
            paths = [(start / given).resolve() for start in starts]
            path = next((path for path in paths if path.exists()), paths[0])
        except (OSError, RuntimeError):
            return None
        if not path.is_relative_to(self.root):
            return None
        return Member(path, inner) if separator else path

    def _report(self, file: str, row: int | None, kind: str, message: str, id: str = "") -> None:
        problem = Problem(file, row, kind, message, id[:LONGEST_ID])
        (self.on_problem or self.problems.append)(problem)


def read_dataset(
    path: Path,
    image_column: str | None = None,
    caption_column: str | None = None,
    id_column: str | None = None,
    split_column: str | None = None,
    image_root: Path | None = None,
    open_images: bool = True,
) -> DatasetReader:
    """A reader of the folder or table at `path`. `open_images`: see DatasetReader.

    Raises DatasetNotFound or DatasetFormatError if there is nothing to read, with what is expected.
    """
    path = path.resolve()
    if not path.exists():
        raise DatasetNotFound(f"There is no file or folder '{path}'.{where_to_get(path)}")
    if path.is_dir():
        tables, root = _tables_of(path), path
    else:
        if path.suffix.lower() not in _FILES:
            raise DatasetFormatError(
                f"'{path.name}' is no dataset: give a folder with metadata.jsonl or metadata.csv, "
                f"or a file that ends in one of {', '.join(_FILES)}."
            )
        tables, root = [path], path.parent
    if image_root is not None:
        root = Path(image_root).expanduser().resolve()
        if not root.is_dir():
            raise DatasetNotFound(f"There is no folder '{root}' (--image-root).")
    counts = [None if _is_annotations(table) else row_count(table) for table in tables]
    total = sum(count for count in counts if count is not None) if None not in counts else None
    columns = {
        "image": image_column,
        "caption": caption_column,
        "id": id_column,
        "split": split_column,
    }
    return DatasetReader(root, tables, columns, total, open_images)


def _tables_of(folder: Path) -> list[Path]:
    """What is read in a folder: by what lies in it."""
    # MM-IMDb holds its films in a folder of its own; the folder is its table.
    films = next((f for f in (folder, folder / "dataset") if f.is_dir() and is_mm_imdb(f)), None)
    if films is not None:
        return [films]
    if found := saved_tables(folder):
        return found
    try:
        return _metadata_files(folder)
    except DatasetFormatError:
        shards = shards_of(folder) or sorted(folder.glob("*.parquet"))
        if not shards:
            raise
        return shards


def _as_exported(table: Path, values: dict[str, Any]) -> dict[str, Any]:
    """A row of our own export as it was: no apostrophes before formulas, the source's other
    columns each by itself again."""
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


def _rows_of(table: Path) -> Iterator[TableRow]:
    if table.is_dir():
        return mm_imdb_rows(table)
    ending = table.suffix.lower()
    if ending == ".tar":
        return tar_rows(table)
    if ending == ".zip":
        return zip_rows(table)
    return annotation_rows(table) if _is_annotations(table) else rows_of(table)


def _metadata_files(folder: Path) -> list[Path]:
    """metadata.* or data.* of the folder itself, or of its subfolders (train, test, …)."""
    found = [folder / name for name in METADATA if (folder / name).is_file()][:1]
    if not found:
        for inner in sorted(p for p in folder.iterdir() if p.is_dir()):
            found += [inner / name for name in METADATA if (inner / name).is_file()][:1]
    if found:
        return found
    raise DatasetFormatError(
        f"The folder '{folder}' holds no metadata.jsonl or metadata.csv. Put one beside the images "
        'with a line an image, such as {"file_name": "0001.jpg", "caption": "A dog on a beach."}'
    )


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


def _text(value: Any) -> str:
    """A cell as text: exactly as it is if it is text, empty for nothing."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, list | dict | bool) else str(value)


def _caption_problem(text: str) -> str:
    if not text.strip():
        return "The caption is empty."
    if "\0" in text:
        return "The caption holds a zero byte."
    if len(text) > LONGEST_CAPTION:
        return f"The caption has {len(text)} characters; at most {LONGEST_CAPTION} are taken."
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "The caption holds characters that are no Unicode (lone surrogates)."
    return ""


def _id_problem(identity: str) -> str:
    if len(identity) > LONGEST_ID:
        return f"The id has {len(identity)} characters; at most {LONGEST_ID} are taken."
    if "\0" in identity or not identity.isprintable():
        return "The id holds characters that cannot be shown."
    return ""


def _made_id(path: ImageFile, root: Path, caption: str) -> str:
    """For datasets without ids: the same pair gets the same id whenever it is read."""
    name = relative_name(path, root)
    digest = hashlib.sha256(f"{name}\n{caption}".encode("utf-8", "replace")).hexdigest()[:12]
    return f"{name[-200:]}:{digest}"


def _json(value: Any) -> Any:
    """A value that JSON can hold; others as text."""
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
    return value
