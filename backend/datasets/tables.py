"""Rows of a table file, one by one, each with the number a person would look for.

Row numbers count data rows from 1 in Parquet and JSONL (there: lines), and lines of the file in CSV
(the header is line 1), because that is what an editor shows.
"""

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.containers import SEPARATOR
from backend.errors import DatasetFormatError

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_BATCH = 2000


@dataclass(frozen=True)
class TableRow:
    """`values` by column; None with a `problem` if the row itself cannot be read."""

    number: int
    values: dict[str, Any] | None
    problem: str = ""


def rows_of(path: Path) -> Iterator[TableRow]:
    """All rows of the file. Raises DatasetFormatError if it is no table of that kind."""
    ending = path.suffix.lower()
    if ending in (".csv", ".tsv"):
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
            yield from csv_rows(lines, "\t" if ending == ".tsv" else ",", path.name)
    elif ending in (".jsonl", ".ndjson"):
        with path.open("rb") as raw:
            yield from jsonl_rows(raw)
    elif ending == ".parquet":
        yield from _parquet(path)
    elif ending == ".arrow":
        yield from _arrow(path)
    else:
        raise DatasetFormatError(f"'{path.name}' must end in one of {', '.join(ENDINGS)}.")


def row_count(path: Path) -> int | None:
    """About how many rows there are, cheaply; None if only reading would tell."""
    if path.suffix.lower() == ".parquet":
        try:
            return int(pq.ParquetFile(path).metadata.num_rows)
        except (pa.ArrowInvalid, OSError):
            return None
    if path.suffix.lower() not in (".csv", ".tsv", ".jsonl", ".ndjson"):
        return None
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return max(0, lines - 1) if path.suffix.lower() in (".csv", ".tsv") else lines


def csv_rows(lines: Iterable[str], delimiter: str, name: str = "the table") -> Iterator[TableRow]:
    """Rows of a CSV; bytes that are no UTF-8 come as lone surrogates."""
    # Captions may be longer than csv's own limit of 131,072 characters a field.
    csv.field_size_limit(1 << 27)
    reader = csv.reader((line.replace("\0", "") for line in lines), delimiter=delimiter)
    header: list[str] | None = None
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as problem:
            yield TableRow(reader.line_num, None, f"This line is no CSV: {problem}.")
            continue
        if header is None:
            header = [cell.strip() for cell in cells]
            continue
        if not cells:
            continue
        if len(cells) > len(header):
            yield TableRow(
                reader.line_num,
                None,
                f"{len(cells)} cells where the header has {len(header)}. Put captions that "
                'hold commas into double quotes ("…").',
            )
            continue
        yield TableRow(reader.line_num, dict(zip(header, map(_clean, cells), strict=False)))
    if header is None:
        raise DatasetFormatError(f"'{name}' is empty: it has no header line.")


def jsonl_rows(lines: Iterable[bytes]) -> Iterator[TableRow]:
    """Rows of a file with a JSON object a line."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line.decode("utf-8-sig"))
        except UnicodeDecodeError:
            yield TableRow(number, None, "This line is not UTF-8. Save the file as UTF-8.")
            continue
        except (json.JSONDecodeError, RecursionError) as problem:
            reason = getattr(problem, "msg", "nested too deeply")
            yield TableRow(number, None, f"This line is no JSON object: {reason}.")
            continue
        if not isinstance(value, dict):
            yield TableRow(number, None, "This line is JSON, but no object with named fields.")
            continue
        yield TableRow(number, value)


def _parquet(path: Path) -> Iterator[TableRow]:
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as problem:
        raise DatasetFormatError(
            f"'{path.name}' is no Parquet file: {str(problem).splitlines()[0][:200]}"
        ) from problem
    images = _image_columns(file.schema_arrow)
    others = [name for name in file.schema_arrow.names if name not in images]
    number = 0
    # The images stay where they are: rows name the cells that hold them.
    for batch in file.iter_batches(batch_size=_BATCH, columns=others):
        for values in batch.to_pylist() if others else [{}] * batch.num_rows:
            here = {column: _cell(path, number, column) for column in images}
            number += 1
            yield TableRow(number, {**here, **values})


def _arrow(path: Path) -> Iterator[TableRow]:
    """Rows of a saved Hugging Face dataset."""
    try:
        with pa.memory_map(str(path)) as mapped:
            table = pa.ipc.open_stream(mapped).read_all()
    except (pa.ArrowInvalid, OSError) as problem:
        raise DatasetFormatError(
            f"'{path.name}' is no Arrow stream: {str(problem).splitlines()[0][:200]}"
        ) from problem
    images = _image_columns(table.schema)
    others = table.select([name for name in table.schema.names if name not in images])
    number = 0
    for batch in others.to_batches(max_chunksize=_BATCH) if others.num_columns else []:
        for values in batch.to_pylist():
            here = {column: _image_cell(table, path, number, column) for column in images}
            number += 1
            yield TableRow(number, {**here, **values})


def _image_columns(schema: pa.Schema) -> list[str]:
    """Columns that hold bytes, or a struct with bytes as Hugging Face's Image feature has."""

    def holds(kind: pa.DataType) -> bool:
        if pa.types.is_struct(kind):
            return any(kind.field(i).name == "bytes" for i in range(kind.num_fields))
        return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))

    return [field.name for field in schema if holds(field.type)]


def _cell(path: Path, row: int, column: str) -> str:
    return f"{path.name}{SEPARATOR}{row}/{column}"


def _image_cell(table: pa.Table, path: Path, row: int, column: str) -> str:
    """The cell, or the path in it where the image itself was left outside."""
    cell = table.column(column)[row]
    if isinstance(cell, pa.StructScalar) and cell.is_valid and not cell["bytes"].is_valid:
        return str(cell["path"].as_py() or "")
    return _cell(path, row, column) if cell.is_valid else ""


def _clean(cell: str) -> str:
    """Bytes that are no UTF-8 become the replacement character, visible and harmless."""
    return cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
