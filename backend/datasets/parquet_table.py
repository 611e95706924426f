"""Rows of a Parquet file. The decompressed size of a row group is checked before reading it."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.arrow_cells import embedded_columns, image_cell, is_list, value_of
from backend.datasets.cells import Embedded
from backend.datasets.containers import SEPARATOR
from backend.datasets.parquet_groups import OpenParquet, open_parquet, rows_at_once
from backend.datasets.rows import TableRow, check_names
from backend.errors import DatasetFormatError

_PEEKED = 100


def parquet_rows(path: Path, raw: IO[bytes]) -> Iterator[TableRow]:
    """All rows of the file at `path`, opened as `raw`. Images are not read: rows contain the
    addresses of their cells. Raises DatasetFormatError if it is not a Parquet file."""
    try:
        schema = pq.ParquetFile(raw).schema_arrow
        opened = open_parquet(raw)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise DatasetFormatError(
            f"'{path.name}' is not a Parquet file: {_first_line(problem)}"
        ) from problem
    check_names(schema.names, path.name)
    images = embedded_columns(schema, lambda name: _peek(opened, name))
    others = [name for name in schema.names if name not in images]
    first = 0
    for group, about in enumerate(opened.groups):
        end = first + about.rows
        number = first
        try:
            at_once = rows_at_once(opened, group, others)
            places = {
                name: (_Lists if is_list(schema.field(name).type) else _Places)(opened, group, name)
                for name in images
            }
            for batch in _batches(opened.file, group, others, about.rows, at_once):
                for row in range(batch.num_rows):
                    paths = {
                        name: _cell(path, number, name, places[name], number - first)
                        for name in images
                    }
                    columns = zip(batch.schema.names, batch.columns, strict=True)
                    values = {name: value_of(column[row]) for name, column in columns}
                    number += 1
                    yield TableRow(number, {**paths, **values})
        except (pa.ArrowException, OSError, ValueError) as problem:
            yield TableRow(
                number + 1, None,
                f"The rows {number + 1:,} to {end:,} cannot be read: {_first_line(problem)}",
            )  # fmt: skip
        first = end


def _batches(
    file: pq.ParquetFile, group: int, columns: list[str], rows: int, at_once: int
) -> Iterator[Any]:
    if columns:
        yield from file.iter_batches(batch_size=at_once, row_groups=[group], columns=columns)
        return
    for start in range(0, rows, at_once):
        yield _Empty(min(at_once, rows - start))


class _Empty:
    """A batch without columns, whose rows Arrow cannot count."""

    def __init__(self, rows: int) -> None:
        self.num_rows = rows
        self.columns: list[Any] = []
        self.schema = pa.schema([])


class _Places:
    """Finds cells of a struct column with no bytes but the path of an external image."""

    def __init__(self, opened: OpenParquet, group: int, column: str) -> None:
        self._paths: list[Any] | None = None
        about = opened.groups[group]
        leaves = {chunk.path: chunk for chunk in about.chunks}
        inner, outer = leaves.get(f"{column}.bytes"), leaves.get(f"{column}.path")
        if inner is None or outer is None or not inner.nulls:
            return
        wanted = [f"{column}.path"]
        if inner.nulls < about.rows:  # some embedded, some external: check each
            wanted.append(f"{column}.bytes")
        at_once = rows_at_once(opened, group, wanted)
        self._paths = []
        for batch in opened.file.iter_batches(
            batch_size=at_once, row_groups=[group], columns=wanted
        ):
            cells = batch.column(0)
            inside = cells.field("bytes").is_valid() if len(wanted) > 1 else None
            self._paths += [
                None if inside is not None and inside[row].as_py() else value_of(path) or ""
                for row, path in enumerate(cells.field("path"))
            ]

    def outside(self, row: int) -> Any:
        """The path; None if the cell itself contains the image."""
        return self._paths[row] if self._paths is not None else None


class _Lists:
    """The cells of a column of lists of images."""

    def __init__(self, opened: OpenParquet, group: int, column: str) -> None:
        rows_at_once(opened, group, [column])
        self._cells = opened.file.read_row_group(group, columns=[column]).column(column)

    def cell(self, row: int, address: str) -> Any:
        """The addresses or paths of the images in a row; see `image_cell`."""
        return image_cell(self._cells[row], address)


def _cell(path: Path, row: int, column: str, places: _Places | _Lists, in_group: int) -> Any:
    address = f"{path.name}{SEPARATOR}{row}/{column}"
    if isinstance(places, _Lists):
        return places.cell(in_group, address)
    outside = places.outside(in_group)
    return Embedded(address) if outside is None else outside


def _peek(opened: OpenParquet, column: str) -> Any:
    """The first cells of a column; empty if its first group is too large or damaged."""
    try:
        if opened.groups:
            at_once = min(_PEEKED, rows_at_once(opened, 0, [column]))
            for batch in opened.file.iter_batches(at_once, row_groups=[0], columns=[column]):
                return batch.column(0)
    except (pa.ArrowException, OSError, ValueError):
        pass  # the affected rows are reported when they are read
    return []


def _first_line(problem: BaseException) -> str:
    return (str(problem).strip().splitlines() or [type(problem).__name__])[0][:200]
