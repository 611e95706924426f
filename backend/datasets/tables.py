"""Rows of a table file, one by one, with the row numbers that users expect.

Row numbers count rows from 1 in Parquet, and lines of the file in JSONL and CSV (where the header
is line 1), as in an editor.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend import plugins
from backend.datasets.arrow_cells import embedded_columns, image_cell, value_of
from backend.datasets.arrow_streams import arrow_table
from backend.datasets.containers import SEPARATOR
from backend.datasets.csv_table import csv_rows
from backend.datasets.file_endings import TABLES, TEXT_TABLES
from backend.datasets.parquet_table import parquet_rows
from backend.datasets.regular_files import LeadsOut, NotRegular
from backend.datasets.rows import TableRow, UniqueNames, check_names, unique_names
from backend.datasets.text_files import Encoding, TextLine, decoded_lines, encoding_of, opened
from backend.errors import DatasetFormatError

_BATCH = 2000


@dataclass(frozen=True)
class TableReader:
    """Reads tables of another format, for another package (`backend.plugins`). `endings`: such as
    ".xlsx"; `rows`: the rows of a file. It may raise DatasetFormatError."""

    endings: tuple[str, ...]
    rows: Callable[[Path], Iterator[TableRow]]


def rows_of(
    path: Path,
    encoding: str | None = None,
    delimiter: str | None = None,
    folders: Sequence[Path] = (),
) -> Iterator[TableRow]:
    """All rows of the file. Raises DatasetFormatError if it is not a table of that format.

    `encoding`: of a text file (see `text_files.encoding_of`); `delimiter`: of a CSV file; None
    detects them. `folders`: as for `text_files.opened`.
    """
    ending = path.suffix.lower()
    if ending in TEXT_TABLES:
        with opened(path, folders) as raw:
            lines = decoded_lines(raw, encoding_of(raw, path.name, encoding).name)
            if ending in (".jsonl", ".ndjson"):
                yield from jsonl_rows(lines)
            else:
                tab = "\t" if ending == ".tsv" else None
                yield from csv_rows(lines, delimiter or tab, path.name)
    elif ending == ".parquet":
        with opened(path, folders) as raw:
            yield from parquet_rows(path, raw)
    elif ending == ".arrow":
        yield from _arrow(path, folders)
    elif ending in table_readers():
        yield from table_readers()[ending].rows(path)
    else:
        raise DatasetFormatError(f"'{path.name}' must end in one of {', '.join(TABLES)}.")


def table_readers() -> dict[str, TableReader]:
    """The readers of other packages by ending."""
    readers = plugins.load("readers", TableReader)
    return {ending.lower(): reader for reader in readers for ending in reader.endings}


def text_encoding(
    path: Path, given: str | None = None, folders: Sequence[Path] = ()
) -> Encoding | None:
    """The encoding of a table in a text file; None for other tables. Raises as `encoding_of`."""
    if path.suffix.lower() not in (*TEXT_TABLES, ".json"):
        return None
    with opened(path, folders) as raw:
        return encoding_of(raw, path.name, given)


def row_count(path: Path, folders: Sequence[Path] = ()) -> int | None:
    """The approximate number of rows; None if it cannot be found without parsing the file."""
    ending = path.suffix.lower()
    if ending == ".parquet":
        try:
            with opened(path, folders) as raw:
                return int(pq.ParquetFile(raw).metadata.num_rows)
        except (pa.ArrowException, OSError, ValueError, DatasetFormatError):
            return None
    if ending not in TEXT_TABLES:
        return None
    with opened(path, folders) as file:
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
    check_names(table.schema.names, path.name)
    images = embedded_columns(table.schema, lambda name: table.column(name)[:100])
    others = table.select([name for name in table.schema.names if name not in images])
    for number in range(table.num_rows):
        cells = {column: _image_cell(table, path, number, column) for column in images}
        values = {column: value_of(others.column(column)[number]) for column in others.column_names}
        yield TableRow(number + 1, {**cells, **values})


def _image_cell(table: pa.Table, path: Path, row: int, column: str) -> Any:
    """The address of the cell, or the path in it if the image is external; a list for several."""
    return image_cell(table.column(column)[row], f"{path.name}{SEPARATOR}{row}/{column}")
