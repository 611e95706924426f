"""Rows of a table file, one by one, with the row numbers that users expect.

Row numbers count rows from 1 in Parquet, and lines of the file in JSONL and CSV (where the header
is line 1), as in an editor. The decompressed size of a Parquet row group is checked before reading.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.datasets.cells import (
    UNREAD_BYTES,
    EmbeddedImage,
    TableRow,
    UniqueNames,
    check_names,
    unique_names,
)
from backend.datasets.read_options import JSON_LINES, TABLES, TEXT_TABLES
from backend.datasets.reading.class_names import class_namers
from backend.datasets.reading.csv_table import csv_rows
from backend.datasets.reading.json_tables import is_document
from backend.datasets.safe_files.arrow_cells import (
    arrow_table,
    byte_columns,
    image_cell,
    is_list,
    value_of,
    values_of,
)
from backend.datasets.safe_files.containers import SEPARATOR
from backend.datasets.safe_files.parquet_groups import (
    MOST_ROWS,
    OpenParquet,
    open_parquet,
    rows_at_once,
)
from backend.datasets.safe_files.regular_files import LeadsOut, NotRegular
from backend.datasets.safe_files.text_files import (
    Encoding,
    TextLine,
    decoded_lines,
    encoding_of,
    open_in_folders,
)
from backend.datasets.table_readers import table_readers
from backend.errors import DatasetFormatError, UnsupportedFormat

_PEEKED = 100


def parquet_rows(path: Path, raw: IO[bytes]) -> Iterator[TableRow]:
    """All rows of the file at `path`, opened as `raw`. Images are not read: rows contain the
    addresses of their cells. Raises DatasetFormatError if it is not a Parquet file."""
    try:
        schema = pq.ParquetFile(raw).schema_arrow
        parquet = open_parquet(raw)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise DatasetFormatError(
            f"'{path.name}' is not a Parquet file: {_first_line(problem)}"
        ) from problem
    check_names(schema.names, path.name)
    images, unread = byte_columns(schema, lambda name: _peek(parquet, name))
    others = [name for name in schema.names if name not in (*images, *unread)]
    without = dict.fromkeys(unread, UNREAD_BYTES)
    first = 0
    for group, about in enumerate(parquet.groups):
        end = first + about.rows
        number = first
        try:
            at_once = rows_at_once(parquet, group, others)
            places = {
                name: (_Lists if is_list(schema.field(name).type) else _Places)(
                    parquet, group, name
                )
                for name in images
            }
            for names, rows in _batches(parquet.file, group, others, about.rows, at_once):
                for row in rows:
                    paths = {
                        name: place.cell(number - first, _address(path, number, name))
                        for name, place in places.items()
                    }
                    number += 1
                    cells = dict(zip(names, row, strict=True))
                    yield TableRow(number, {**paths, **cells, **without})
        except (pa.ArrowException, OSError, ValueError) as problem:
            yield TableRow(
                number + 1, None,
                f"The rows {number + 1:,} to {end:,} cannot be read: {_first_line(problem)}",
            )  # fmt: skip
        first = end


def _batches(
    file: pq.ParquetFile, group: int, names: list[str], rows: int, at_once: int
) -> Iterator[tuple[list[str], Iterable[tuple[Any, ...]]]]:
    """The names of the columns, and their values row by row, of each batch. Arrow cannot count rows
    without columns."""
    if not names:
        yield [], repeat((), rows)
        return
    for batch in file.iter_batches(batch_size=at_once, row_groups=[group], columns=names):
        yield batch.schema.names, zip(*_columns(batch, batch.schema.names), strict=True)


def _columns(batch: pa.RecordBatch, names: Iterable[str]) -> list[Iterable[Any]]:
    """The values of these columns, with names in the place of numbers of classes."""
    namers = class_namers(batch.schema)
    values = {name: values_of(batch.column(name)) for name in names}
    return [map(namers[name], cells) if name in namers else cells for name, cells in values.items()]


def _address(path: Path, row: int, column: str) -> str:
    """Of the cell; `row`: from 0."""
    return f"{path.name}{SEPARATOR}{row}/{column}"


class _Places:
    """Finds cells of a struct column with no bytes but the path of an external image."""

    def __init__(self, parquet: OpenParquet, group: int, column: str) -> None:
        self._paths: list[Any] | None = None
        about = parquet.groups[group]
        leaves = {chunk.path: chunk for chunk in about.chunks}
        inner, outer = leaves.get(f"{column}.bytes"), leaves.get(f"{column}.path")
        if inner is None or outer is None or not inner.nulls:
            return
        columns = [f"{column}.path"]
        if inner.nulls < about.rows:  # some embedded, some external: check each
            columns.append(f"{column}.bytes")
        at_once = rows_at_once(parquet, group, columns)
        self._paths = []
        for batch in parquet.file.iter_batches(
            batch_size=at_once, row_groups=[group], columns=columns
        ):
            cells = batch.column(0)
            inside = cells.field("bytes").is_valid() if len(columns) > 1 else None
            self._paths += [
                None if inside is not None and inside[row].as_py() else value_of(path) or ""
                for row, path in enumerate(cells.field("path"))
            ]

    def cell(self, row: int, address: str) -> Any:
        """The address of the image in a row of the group, or the path of an external one."""
        outside = self._paths[row] if self._paths is not None else None
        return EmbeddedImage(address) if outside is None else outside


class _Lists:
    """The cells of a column of lists of images. Where all of them are embedded, only the lengths of
    the lists are read."""

    def __init__(self, parquet: OpenParquet, group: int, column: str) -> None:
        leaves = [chunk for chunk in parquet.groups[group].chunks if _is_inside(chunk.path, column)]
        is_embedded = any(leaf.path.endswith(".bytes") and leaf.nulls == 0 for leaf in leaves)
        paths = [leaf.path for leaf in leaves if leaf.path.endswith(".path")]
        names = paths[:1] if is_embedded and paths else [column]
        rows_at_once(parquet, group, names)
        self._cells = parquet.file.read_row_group(group, columns=names).column(column)
        self._lengths: list[int | None] | None = None
        if is_embedded or _are_embedded(self._cells):
            self._lengths = pc.list_value_length(self._cells).to_pylist()

    def cell(self, row: int, address: str) -> Any:
        """The addresses or paths of the images in a row of the group; see `image_cell`."""
        if self._lengths is None:
            return image_cell(self._cells[row], address)
        length = self._lengths[row]
        if length is None:
            return ""
        return [EmbeddedImage(f"{address}/{number}") for number in range(length)]


def _is_inside(path: str, column: str) -> bool:
    return path.startswith(f"{column}.")


def _are_embedded(cells: pa.ChunkedArray) -> bool:
    """Whether all images of the lists have bytes."""
    images = [chunk.flatten() for chunk in cells.chunks]
    structs = [each for each in images if pa.types.is_struct(each.type)]
    contents = [*images, *(each.field("bytes") for each in structs)]
    return all(each.null_count == 0 for each in contents)


def _peek(parquet: OpenParquet, column: str) -> Any:
    """The first cells of a column; empty if its first group is too large or damaged."""
    try:
        if parquet.groups:
            at_once = min(_PEEKED, rows_at_once(parquet, 0, [column]))
            for batch in parquet.file.iter_batches(at_once, row_groups=[0], columns=[column]):
                return batch.column(0)
    except (pa.ArrowException, OSError, ValueError):
        pass  # the affected rows are reported when they are read
    return []


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]


_BATCH = 2000


def text_rows(
    lines: Iterable[TextLine], ending: str, delimiter: str | None, name: str
) -> Iterator[TableRow]:
    """The rows of a CSV, TSV or JSON lines file, by its `ending`. Raises DatasetFormatError, which
    names the file."""
    if ending in JSON_LINES:
        return jsonl_rows(lines)
    return csv_rows(lines, delimiter or ("\t" if ending == ".tsv" else None), name)


def rows_of(
    path: Path,
    encoding: str | None = None,
    delimiter: str | None = None,
    folders: Sequence[Path] = (),
) -> Iterator[TableRow]:
    """All rows of the file. Raises DatasetFormatError if it is not a table of that format.

    `encoding`: of a text file (see `text_files.encoding_of`); `delimiter`: of a CSV file; None
    detects them. `folders`: as for `text_files.open_in_folders`.
    """
    ending = path.suffix.lower()
    if ending in TEXT_TABLES:
        with open_in_folders(path, folders) as raw:
            lines = decoded_lines(raw, encoding_of(raw, path.name, encoding).name)
            yield from text_rows(lines, ending, delimiter, path.name)
    elif ending == ".parquet":
        with open_in_folders(path, folders) as raw:
            yield from parquet_rows(path, raw)
    elif ending == ".arrow":
        yield from _arrow(path, folders)
    elif ending in table_readers():
        yield from table_readers()[ending].checked_rows(path)
    else:
        raise UnsupportedFormat(f"'{path.name}' must end in one of {', '.join(TABLES)}.")


def text_encoding(
    path: Path, encoding: str | None = None, folders: Sequence[Path] = ()
) -> Encoding | None:
    """The encoding of a table in a text file; None for other tables. Raises as `encoding_of`."""
    if path.suffix.lower() not in (*TEXT_TABLES, ".json"):
        return None
    with open_in_folders(path, folders) as raw:
        return encoding_of(raw, path.name, encoding)


def is_json_document(path: Path, encoding: str, folders: Sequence[Path] = ()) -> bool:
    """Whether a file of JSON lines is one list or table instead. Raises as `encoding_of`."""
    with open_in_folders(path, folders) as raw:
        return is_document(decoded_lines(raw, encoding))


def row_count(path: Path, folders: Sequence[Path] = ()) -> int | None:
    """The approximate number of rows; None if it cannot be found without parsing the file."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        try:
            with open_in_folders(path, folders) as raw:
                return int(pq.ParquetFile(raw).metadata.num_rows)
        except (pa.ArrowException, OSError, ValueError, DatasetFormatError):
            return None
    if ending not in TEXT_TABLES:
        return None
    with open_in_folders(path, folders) as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return max(0, lines - 1) if ending in (".csv", ".tsv") else lines


def jsonl_rows(lines: Iterable[TextLine]) -> Iterator[TableRow]:
    """Rows of a file with one JSON object per line."""
    for number, line in enumerate(lines, 1):
        if line.text is None:
            yield TableRow(number, None, line.problem)
            continue
        if not line.text.strip():
            continue
        try:
            value = json.loads(line.text, object_pairs_hook=unique_names)
        except (ValueError, RecursionError) as problem:
            reason = getattr(problem, "msg", "") or (
                "nested too deeply" if isinstance(problem, RecursionError) else "a number too long"
            )
            yield TableRow(number, None, f"This line is not a JSON object: {reason}.")
            continue
        if not isinstance(value, UniqueNames):
            yield TableRow(number, None, "This line is JSON, but not an object with named fields.")
            continue
        yield value.row(number)


def _arrow(path: Path, folders: Sequence[Path]) -> Iterator[TableRow]:
    """Rows of a saved Hugging Face dataset."""
    try:
        table = arrow_table(path, folders)
    except (NotRegular, LeadsOut) as problem:
        raise DatasetFormatError(
            f"'{path.name}' cannot be opened: {problem.strerror}."
        ) from problem
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise DatasetFormatError(
            f"'{path.name}' is not an Arrow stream: {(str(problem).splitlines() or ['?'])[0][:200]}"
        ) from problem
    yield from rows_of_arrow(table, path)


def rows_of_arrow(table: pa.Table, path: Path) -> Iterator[TableRow]:
    """The rows of a table in the file at `path`, with addresses of the pictures in them. Raises
    DatasetFormatError for names of columns that cannot be."""
    check_names(table.schema.names, path.name)
    images, unread = byte_columns(table.schema, lambda name: table.column(name)[:_PEEKED])
    others = [name for name in table.schema.names if name not in (*images, *unread)]
    without = dict.fromkeys(unread, UNREAD_BYTES)
    number = 0
    for batch in table.to_batches(MOST_ROWS):
        columns = _columns(batch, others)
        cells = zip(*columns, strict=True) if columns else repeat((), batch.num_rows)
        pictures = [batch.column(name) for name in images]
        for place, row in enumerate(cells):
            # The address of a cell, or the path in it if the image is external; a list for several.
            paths = {
                name: image_cell(column[place], _address(path, number, name))
                for name, column in zip(images, pictures, strict=True)
            }
            number += 1
            yield TableRow(number, {**paths, **dict(zip(others, row, strict=True)), **without})
