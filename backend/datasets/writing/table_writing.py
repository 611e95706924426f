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
from backend.datasets.export_row import (
    COLUMNS,
    FIELDS,
    ExportRow,
    Target,
    arrow_values,
    json_values,
    own_values,
)
from backend.datasets.safe_files.containers import ImageFile, Member, file_of
from backend.datasets.writing.card_features import JsonColumns, arrow_features
from backend.datasets.writing.export_images import ImageCopies, SplitNames

_ROW_GROUP = 5_000
#: The types of the columns that every table of lines has.
LINE_FEATURES = arrow_features(each for each in FIELDS if each[0] != "extra")
#: What loaders call a table of several splits; not `train`, which would be trained on.
_ALL_SPLITS = "pairs"


def write_jsonl(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.jsonl`, one object per pair."""

    def values_of(row: ExportRow, path: str) -> dict[str, Any]:
        return {"image_path": path, **json_values(row)}

    features = [{"name": "image_path", "dtype": "string"}, *LINE_FEATURES]
    return write_lines(rows, target, ImagePaths(target), values_of, features)


def write_lines(
    rows: Iterable[ExportRow],
    target: Target,
    paths: "ImagePaths",
    values_of: Callable[[ExportRow, str], dict[str, Any]],
    features: list[dict[str, Any]],
) -> int:
    """Write `data.jsonl`, with the values of each row and the path of its image; returns the number
    of rows. `features`: the types of its columns, for the card."""
    count, splits = 0, _SplitsInOne()
    columns = JsonColumns(features)
    with (target.part / "data.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            values = values_of(row, paths.of(row.image_path))
            file.write(json.dumps(values, ensure_ascii=False) + "\n")
            splits.add(row.split)
            columns.add(values)
            count += 1
    target.loader["features"] = columns.features()
    splits.report("data.jsonl", target)
    paths.report()
    return count


def write_csv(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.csv`. The source's other columns, which may differ between rows, are packed into
    one JSON column."""
    count, splits = 0, _SplitsInOne()
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
            splits.add(row.split)
            count += 1
    target.loader |= csv_loader([("image_path", pa.string()), *FIELDS])
    splits.report("data.csv", target)
    paths.report()
    return count


def csv_loader(fields: Iterable[tuple[str, pa.DataType]]) -> dict[str, Any]:
    """What a loader of CSV has to know: the types, where lists are written as text, and that only
    an empty cell is none, not a caption "NA"."""
    plain = [(name, pa.string() if pa.types.is_list(kind) else kind) for name, kind in fields]
    return {"features": arrow_features(plain), "keep_default_na": False, "na_values": [""]}


def write_parquet(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `data.parquet`, with the source's other columns as in CSV."""
    schema = pa.schema([("image_path", pa.string()), *FIELDS])
    count, splits = 0, _SplitsInOne()
    paths = ImagePaths(target)
    with pq.ParquetWriter(target.part / "data.parquet", schema) as writer:
        waiting = iter(rows)
        while group := list(islice(waiting, _ROW_GROUP)):
            values = [{"image_path": paths.of(row.image_path), **arrow_values(row)}
                      for row in group]  # fmt: skip
            writer.write_table(pa.Table.from_pylist(values, schema))
            for row in group:
                target.changes.packed |= row.extra.keys()
                splits.add(row.split)
            count += len(group)
    splits.report("data.parquet", target)
    paths.report()
    return count


class _SplitsInOne:
    """The splits of a table that holds all of them: loaders give it one name."""

    def __init__(self) -> None:
        self._names = SplitNames()
        self._splits: set[str] = set()

    def add(self, split: str | None) -> None:
        self._splits.add(self._names.of(split))

    def report(self, file: str, target: Target) -> None:
        """Name the file in the card, so that loaders take no other of the folder."""
        if len(self._splits) == 1:
            target.files[self._splits.pop()] = file
        elif self._splits:
            target.files[_ALL_SPLITS] = file
            target.changes.remarks.append(
                f"`{file}` holds all splits: `load_dataset(FOLDER)` calls it `{_ALL_SPLITS}`, and "
                "the column `split` says which pair is of which."
            )


class ImagePaths:
    """Image paths as written in a table, in the column `name`."""

    def __init__(self, target: Target, name: str = "image_path") -> None:
        self._target, self._name = target, name
        self._out = target.out.parent.resolve() / target.out.name
        self._copies = ImageCopies(target.part, target.root)
        self._written = self._left = False

    def of(self, image: ImageFile) -> str:
        if self._target.copy_images or isinstance(image, Member):
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
            which = "Images" if self._target.copy_images else "Images from archives or tables"
            remarks.append(f"{which} are copied to `images/`.")
