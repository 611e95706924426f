"""Exports as one table with image paths: CSV, JSON Lines, Parquet.

Paths are relative to the table. Image files are not copied; images inside a container are written
next to the table, because other programs cannot read them from there.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.cells import escape
from backend.datasets.containers import ImageFile, Member, file_of
from backend.datasets.export_images import ImageCopies
from backend.datasets.export_row import (
    COLUMNS,
    FIELDS,
    ExportRow,
    Target,
    arrow_values,
    json_values,
    own_values,
)

_ROW_GROUP = 5_000


def write_jsonl(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.jsonl`, one object per pair."""

    def values_of(row: ExportRow, path: str) -> dict[str, Any]:
        return {"image_path": path, **json_values(row)}

    return write_lines(rows, target, ImagePaths(target), values_of)


def write_lines(
    rows: Iterable[ExportRow],
    target: Target,
    paths: "ImagePaths",
    values_of: Callable[[ExportRow, str], dict[str, Any]],
) -> int:
    """Write `data.jsonl`, with the values of each row and the path of its image; returns the number
    of rows."""
    count = 0
    with (target.part / "data.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            values = values_of(row, paths.of(row.image_path))
            file.write(json.dumps(values, ensure_ascii=False) + "\n")
            count += 1
    paths.report()
    return count


def write_csv(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.csv`. The source's other columns, which may differ between rows, are packed into
    one JSON column."""
    count = 0
    paths = ImagePaths(target)
    with (target.part / "data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_path", *COLUMNS, "extra"])
        for row in rows:
            cells: list[Any] = [paths.of(row.image_path)]
            for name, value in own_values(row).items():
                cells.append(" ".join(value) if name == "tags" else "" if value is None else value)
            extra = json.dumps(row.extra, ensure_ascii=False) if row.extra else ""
            writer.writerow([escape(cell) for cell in (*cells, extra)])
            target.changes.packed |= row.extra.keys()
            count += 1
    paths.report()
    return count


def write_parquet(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.parquet`, with the source's other columns as in CSV."""
    schema = pa.schema([("image_path", pa.string()), *FIELDS])
    count = 0
    paths = ImagePaths(target)
    with pq.ParquetWriter(target.part / "data.parquet", schema) as writer:
        waiting = iter(rows)
        while group := list(islice(waiting, _ROW_GROUP)):
            values = [{"image_path": paths.of(row.image_path), **arrow_values(row)}
                      for row in group]  # fmt: skip
            writer.write_table(pa.Table.from_pylist(values, schema))
            for row in group:
                target.changes.packed |= row.extra.keys()
            count += len(group)
    paths.report()
    return count


class ImagePaths:
    """Image paths as written in a table, in the column `name`."""

    def __init__(self, target: Target, name: str = "image_path") -> None:
        self._target, self._name = target, name
        self._out = target.out.parent.resolve() / target.out.name
        self._copies = ImageCopies(target.part, target.root)
        self._written = self._left = False

    def of(self, image: ImageFile) -> str:
        if isinstance(image, Member):
            self._written = True
            return self._copies.once(image, "images", "path")
        self._left = True
        try:
            return Path(os.path.relpath(file_of(image), self._out)).as_posix()
        except ValueError:  # on another Windows drive
            return str(image)

    def report(self) -> None:
        remarks = self._target.changes.remarks
        if self._left:
            remarks.append(
                f"`{self._name}` is relative to this folder and points to the images of the "
                "source, which were not copied: do not move either."
            )
        if self._written:
            remarks.append("Images that came from archives or tables are written to `images/`.")
