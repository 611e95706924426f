"""Rows of datasets that carry their images with them: WebDataset tars, zips, saved datasets.

Each row's image is a name that `containers.locate` understands, so that nothing is unpacked.
"""

import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.containers import SEPARATOR, tar_member
from backend.datasets.tables import TableRow, csv_rows, jsonl_rows
from backend.errors import DatasetFormatError

IMAGE_ENDINGS = (
    ".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".ppm",
)  # fmt: skip
_TEXT_ENDINGS = (".txt", ".caption", ".text", ".cap")
#: Captions and metadata of a sample are small; what is not, is not read.
_MOST_TEXT = 4_000_000
_SPLIT = re.compile(r"(train|test|val|valid|validation)(?:[-_.\d].*)?")
_METADATA = ("metadata.jsonl", "metadata.csv", "data.jsonl", "data.csv")


def shards_of(folder: Path) -> list[Path]:
    """The tar shards of a folder, or of its subfolders (train, test, …), in order."""
    return sorted(folder.glob("*.tar")) or sorted(folder.glob("*/*.tar"))


def saved_tables(folder: Path) -> list[Path]:
    """The Arrow files of a dataset that `save_to_disk` has written, split by split; else none."""
    if (folder / "dataset_dict.json").is_file():
        try:
            splits = json.loads((folder / "dataset_dict.json").read_text("utf-8"))["splits"]
        except (ValueError, KeyError, TypeError) as problem:
            raise DatasetFormatError(
                f"'{folder.name}/dataset_dict.json' names no splits: {problem}."
            ) from problem
        return [file for split in splits for file in saved_tables(folder / str(split))]
    if not (folder / "state.json").is_file():
        return []
    try:
        listed = json.loads((folder / "state.json").read_text("utf-8"))["_data_files"]
        return [folder / str(entry["filename"]) for entry in listed]
    except (ValueError, KeyError, TypeError) as problem:
        raise DatasetFormatError(
            f"'{folder.name}/state.json' names no data files: {problem}."
        ) from problem


def tar_rows(path: Path) -> Iterator[TableRow]:
    """A row a sample: members that share a name up to the first dot of the last part.

    The caption is in `.txt`, or in a column of `.json`; the split is the folder's name, if it is
    one. A tar that breaks off gives the samples before that, then a problem.
    """
    split = split_of(path)
    sample: dict[str, Any] = {}
    key: str | None = None
    number = 0
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if not member.isfile():
                    continue
                found, ending = _key_and_ending(member.name)
                if found != key:
                    if key is not None:
                        number += 1
                        yield _sample(number, key, sample, split)
                    key, sample = found, {}
                if ending in IMAGE_ENDINGS:
                    inner = tar_member(member.offset_data, member.size, member.name)
                    sample["image"] = f"{path.name}{SEPARATOR}{inner}"
                elif ending in (*_TEXT_ENDINGS, ".json") and member.size <= _MOST_TEXT:
                    file = archive.extractfile(member)
                    sample[ending] = file.read() if file is not None else b""
    except (tarfile.TarError, EOFError, OSError) as problem:
        if key is None:
            raise DatasetFormatError(f"'{path.name}' is no tar archive: {problem}.") from problem
        yield TableRow(number + 1, None, f"The tar breaks off here: {problem}.")
        return
    if key is not None:
        yield _sample(number + 1, key, sample, split)


def _sample(number: int, key: str, sample: dict[str, Any], split: str | None) -> TableRow:
    try:
        values: dict[str, Any] = json.loads(sample.get(".json", b"{}").decode("utf-8-sig"))
        if not isinstance(values, dict):
            raise ValueError("it holds no object")
        text = next((sample[e] for e in _TEXT_ENDINGS if e in sample), None)
        if text is not None:
            values = {**values, "caption": text.decode("utf-8")}
        elif not any(name.lower() in CAPTION_NAMES for name in values):
            values["caption"] = ""  # this sample's problem, not the shard's
    except (ValueError, RecursionError) as problem:
        return TableRow(number, None, f"The text of the sample '{key[:80]}' is broken: {problem}.")
    known = {"id": key} if "id" not in values else {}
    place = {"split": split} if split and "split" not in values else {}
    return TableRow(number, {**values, **known, **place, "image": sample.get("image", "")})


def _key_and_ending(name: str) -> tuple[str, str]:
    path = PurePosixPath(name)
    stem, dot, ending = path.name.partition(".")
    return str(path.with_name(stem)) if stem else name, f"{dot}{ending}".lower()


def split_of(path: Path) -> str | None:
    """train, validation or test, if the shard's name or its folder's name says so."""
    for name in (path.stem.lower(), path.parent.name.lower()):
        if found := _SPLIT.fullmatch(name):
            return "validation" if found[1].startswith("val") else found[1]
    return None


def zip_rows(path: Path) -> Iterator[TableRow]:
    """Rows of the metadata file in a zip, images in the zip beside it."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as problem:
        raise DatasetFormatError(f"'{path.name}' is no zip archive: {problem}.") from problem
    with archive:
        tables = [name for name in archive.namelist() if PurePosixPath(name).name in _METADATA]
        if not tables:
            raise DatasetFormatError(
                f"'{path.name}' holds no metadata.jsonl or metadata.csv. Give the table of the "
                f"captions, and the zip with --image-root."
            )
        there = set(archive.namelist())
        for table in sorted(tables):
            folder = PurePosixPath(table).parent
            with archive.open(table) as raw:
                rows = (
                    jsonl_rows(raw)
                    if table.endswith(".jsonl")
                    else csv_rows(io.TextIOWrapper(raw, "utf-8-sig", "surrogateescape", ""), ",")
                )
                for row in rows:
                    yield _zipped(row, path, folder, there)


def _zipped(row: TableRow, path: Path, folder: PurePosixPath, there: set[str]) -> TableRow:
    """The row with the cells that name members as names in the container."""
    if row.values is None:
        return row
    values = dict(row.values)
    for column, value in values.items():
        if isinstance(value, str) and str(folder / value) in there:
            values[column] = f"{path.name}{SEPARATOR}{folder / value}"
    return TableRow(row.number, values)
