"""Rows of datasets that contain their images: WebDataset tars, zips, saved datasets.

Each row's image is an address for `containers.locate`, so that nothing has to be unpacked.
"""

import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, Any, cast

from backend.datasets.cells import Embedded, shown
from backend.datasets.columns import CAPTION_NAMES, IMAGE_ENDINGS
from backend.datasets.containers import SEPARATOR, tar_member, zip_member
from backend.datasets.csv_table import csv_rows
from backend.datasets.regular_files import read_regular
from backend.datasets.rows import TableRow
from backend.datasets.tables import jsonl_rows
from backend.datasets.text_files import decoded_lines, decoded_text, encoding_of, opened
from backend.errors import DatasetFormatError

_TEXT_ENDINGS = (".txt", ".caption", ".text", ".cap")
#: Maximum bytes of a sample's caption or metadata; larger members are not read.
_MOST_TEXT = 4_000_000
_SPLIT = re.compile(r"(train|test|val|valid|validation)(?:[-_.\d].*)?")
_NO_PATHS = (*CAPTION_NAMES, "id", "split")
_METADATA = ("metadata.jsonl", "metadata.csv", "data.jsonl", "data.csv")


def shards_of(folder: Path) -> list[Path]:
    """The tar shards of a folder, or of its subfolders (train, test, …), in order."""
    return sorted(folder.glob("*.tar")) or sorted(folder.glob("*/*.tar"))


def saved_tables(folder: Path) -> list[Path]:
    """The Arrow files of a dataset written by `save_to_disk`, split by split; empty if it is none.

    Raises DatasetFormatError if the files that list them are broken or list other folders' files.
    """
    if (folder / "dataset_dict.json").is_file():
        splits = _listed(folder / "dataset_dict.json", "splits")
        return [file for split in splits for file in _saved_files(folder / _inside(folder, split))]
    return _saved_files(folder)


def _saved_files(folder: Path) -> list[Path]:
    if not (folder / "state.json").is_file():
        return []
    files = _listed(folder / "state.json", "_data_files")
    names = [entry.get("filename") if isinstance(entry, dict) else None for entry in files]
    return [folder / _inside(folder, name) for name in names]


def _listed(path: Path, key: str) -> list[Any]:
    name = f"{shown(path.parent.name)}/{path.name}"
    try:
        listed = json.loads(read_regular(path, _MOST_TEXT).decode("utf-8"))[key]
        if not isinstance(listed, list):
            raise TypeError("no list")
    except (ValueError, KeyError, TypeError, RecursionError, OSError) as problem:
        raise DatasetFormatError(f"'{name}' has no list of '{key}': {problem}.") from problem
    return listed


def _inside(folder: Path, name: Any) -> str:
    """The name, which must be of a direct child of the folder. Raises DatasetFormatError."""
    if not isinstance(name, str) or not name or name in (".", "..") or set("/\\\0") & set(name):
        raise DatasetFormatError(
            f"'{shown(folder.name)}' is not a saved dataset: it lists '{shown(str(name))}', which "
            "is not the name of a file or folder in it."
        )
    return name


def tar_rows(
    path: Path, encoding: str | None = None, note: Callable[[str], None] = lambda _: None
) -> Iterator[TableRow]:
    """One row per sample: consecutive members with the same name up to the first dot of the last
    path component.

    The caption is in `.txt`, or in a column of `.json`; the split is inferred from the name of the
    tar or its folder. A truncated or damaged tar gives the samples before the damage, then a
    problem. `encoding`, `note`: for the texts, see `text_files.decoded_text`.
    """
    split = split_of(path)
    sample: dict[str, Any] = {}
    key: str | None = None
    number = 0
    try:
        with opened(path) as raw, _opened_tar(raw) as archive:
            while (member := archive.next()) is not None:
                archive.members.clear()  # it would keep all of them  # pyrefly: ignore[missing-attribute]
                if not member.isfile():
                    continue
                sample_key, ending = _key_and_ending(member.name)
                if sample_key != key:
                    if key is not None:
                        number += 1
                        yield _sample(number, key, sample, split, encoding, note)
                    key, sample = sample_key, {}
                # For `k.image.jpg` and `k.caption.txt` the last extension counts.
                ending = PurePosixPath(ending).suffix or ending
                if ending in IMAGE_ENDINGS and "image" not in sample:
                    inner = tar_member(member.offset_data, member.size, member.name)
                    sample["image"] = Embedded(f"{path.name}{SEPARATOR}{inner}")
                elif ending in (*_TEXT_ENDINGS, ".json") and member.size <= _MOST_TEXT:
                    file = archive.extractfile(member)
                    sample[ending] = file.read() if file is not None else b""
            _check_end(raw, archive.offset)
    except (tarfile.TarError, EOFError, OSError, ValueError, RecursionError) as problem:
        endless = isinstance(problem, RecursionError)
        reason = "it consists of headers without end" if endless else problem
        if key is None:
            raise DatasetFormatError(f"'{path.name}' is not a tar archive: {reason}.") from problem
        yield TableRow(number + 1, None, f"The tar ends prematurely here: {reason}.")
        return
    if key is not None:
        yield _sample(number + 1, key, sample, split, encoding, note)


class _Reads:
    """A tar's file with limited read sizes: the library reads long names as a whole, and a damaged
    header may claim gigabytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        if size > _MOST_TEXT + tarfile.BLOCKSIZE:
            raise ValueError(f"one of its headers claims {size:,} bytes")
        return self._file.read(size)


def _opened_tar(raw: IO[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast(IO[bytes], _Reads(raw)), mode="r:")


def _check_end(raw: IO[bytes], offset: int) -> None:
    """Raise ValueError unless the tar ends where the library stopped: it treats a damaged header as
    the end, and the rest would silently be missing."""
    raw.seek(offset)
    if raw.read(tarfile.BLOCKSIZE).strip(b"\0"):
        raise ValueError(f"the header at byte {offset:,} is damaged")


def _sample(
    number: int,
    key: str,
    sample: dict[str, Any],
    split: str | None,
    encoding: str | None,
    note: Callable[[str], None],
) -> TableRow:
    def text_in(ending: str) -> str:
        return decoded_text(sample[ending], shown(key, 80) + ending, encoding, note)

    try:
        values: dict[str, Any] = json.loads(text_in(".json") if ".json" in sample else "{}")
        if not isinstance(values, dict):
            raise ValueError("it holds no object")
        text = next((text_in(e) for e in _TEXT_ENDINGS if e in sample), None)
        if text is not None:
            values = {**values, "caption": text}
        elif not any(name.lower() in CAPTION_NAMES for name in values):
            values["caption"] = ""  # this sample's problem, not the shard's
    except DatasetFormatError as problem:
        return TableRow(number, None, str(problem))
    except (ValueError, RecursionError) as problem:
        return TableRow(number, None, f"The text of the sample '{key[:80]}' is broken: {problem}.")
    known = {"__key__": key} if "id" not in values else {}
    place = {"split": split} if split and "split" not in values else {}
    return TableRow(number, {**values, **known, **place, "image": sample.get("image", "")})


def _key_and_ending(name: str) -> tuple[str, str]:
    path = PurePosixPath(name)
    stem, dot, ending = path.name.partition(".")
    return str(path.with_name(stem)) if stem else name, f"{dot}{ending}".lower()


def split_of(path: PurePath) -> str | None:
    """train, validation or test, if the name of the shard or its folder is or begins with one."""
    return named_split(path.stem) or named_split(path.parent.name)


def named_split(name: str) -> str | None:
    """train, validation or test, if the name is or begins with one; else None."""
    if match := _SPLIT.fullmatch(name.lower()):
        return "validation" if match[1].startswith("val") else match[1]
    return None


def zip_rows(
    path: Path,
    encoding: str | None = None,
    delimiter: str | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Iterator[TableRow]:
    """Rows of the metadata files in a zip, with images in the same zip. `note` is called with notes
    on their encoding."""
    with opened(path) as file:
        try:
            archive = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as problem:
            raise DatasetFormatError(f"'{path.name}' is not a zip archive: {problem}.") from problem
        with archive:
            yield from _zip_tables(archive, path, encoding, delimiter, note)


def _zip_tables(
    archive: zipfile.ZipFile,
    path: Path,
    encoding: str | None,
    delimiter: str | None,
    note: Callable[[str], None],
) -> Iterator[TableRow]:
    tables = [name for name in archive.namelist() if PurePosixPath(name).name in _METADATA]
    if not tables:
        raise DatasetFormatError(
            f"'{path.name}' holds no metadata.jsonl or metadata.csv. Give the table of the "
            f"captions, and the zip with --image-root."
        )
    members = set(archive.namelist())
    for table in sorted(tables):
        try:
            about = zip_member(archive, table)
        except (ValueError, NotImplementedError) as problem:
            raise DatasetFormatError(
                f"'{shown(table)}' in '{path.name}' cannot be read: {problem}. Unpack the zip and "
                "give its folder."
            ) from problem
        folder = PurePosixPath(table).parent
        split = split_of(PurePosixPath(table))
        try:
            with archive.open(about) as raw:
                detected = encoding_of(raw, shown(table), encoding)
                if detected.note:
                    note(detected.note)
                lines = decoded_lines(raw, detected.name)
                rows = (
                    jsonl_rows(lines)
                    if table.endswith(".jsonl")
                    else csv_rows(lines, delimiter, shown(table))
                )
                for row in rows:
                    yield _zipped(row, path, folder, members, split)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError,
                RuntimeError, ValueError) as problem:  # fmt: skip
            yield TableRow(
                None, None, f"'{shown(table)}' in the zip cannot be unpacked to its end: {problem}."
            )


def _zipped(
    row: TableRow, path: Path, folder: PurePosixPath, members: set[str], split: str | None
) -> TableRow:
    """The row, with cells that name members of the zip replaced by their addresses."""
    if row.values is None:
        return row
    values = {"split": split, **row.values} if split else dict(row.values)
    for column, value in values.items():
        if column.strip().lower() in _NO_PATHS:
            continue  # a caption may equal the name of a member
        if isinstance(value, str) and str(folder / value) in members:
            values[column] = f"{path.name}{SEPARATOR}{folder / value}"
    return TableRow(row.number, values)
