"""Rows of a table file, one by one, each with the number a person would look for.

Row numbers count data rows from 1 in Parquet and JSONL (there: lines), and lines of the file in CSV
(the header is line 1), because that is what an editor shows.
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

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
        yield from _csv(path, "\t" if ending == ".tsv" else ",")
    elif ending in (".jsonl", ".ndjson"):
        yield from _jsonl(path)
    elif ending == ".parquet":
        yield from _parquet(path)
    else:
        raise DatasetFormatError(f"'{path.name}' must end in one of {', '.join(ENDINGS)}.")


def row_count(path: Path) -> int | None:
    """About how many rows there are, cheaply; None if only reading would tell."""
    if path.suffix.lower() == ".parquet":
        try:
            return int(pq.ParquetFile(path).metadata.num_rows)
        except (pa.ArrowInvalid, OSError):
            return None
    with path.open("rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return max(0, lines - 1) if path.suffix.lower() in (".csv", ".tsv") else lines


def _csv(path: Path, delimiter: str) -> Iterator[TableRow]:
    # Captions may be longer than csv's own limit of 131,072 characters a field.
    csv.field_size_limit(1 << 27)
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader((line.replace("\0", "") for line in file), delimiter=delimiter)
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
        raise DatasetFormatError(f"'{path.name}' is empty: it has no header line.")


def _jsonl(path: Path) -> Iterator[TableRow]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
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
    number = 0
    for batch in file.iter_batches(batch_size=_BATCH):
        for values in batch.to_pylist():
            number += 1
            yield TableRow(number, values)


def _clean(cell: str) -> str:
    """Bytes that are no UTF-8 become the replacement character, visible and harmless."""
    return cell.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
