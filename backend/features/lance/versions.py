"""Lance's datasets: folders whose files may be shared by many versions.

A version is a manifest in `_versions`, which is the table that is read, the newest unless another
is given. Pictures have their position in that version, so that they stay the same when rows are
added, changed (which moves them to the end) or deleted later, until somebody removes the version.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from backend.datasets.cells import (
    UNREAD_BYTES,
    EmbeddedImage,
    TableRow,
    check_names,
    trim,
)
from backend.datasets.safe_files.arrow_cells import byte_columns, image_cell, value_of
from backend.datasets.safe_files.containers import SEPARATOR, image_bytes
from backend.datasets.safe_files.text_files import MOST_BYTES
from backend.datasets.table_readers import FoundTables, TableReader
from backend.errors import DatasetFormatError, ImageError, missing_extra

VERSIONS, ENDING = "_versions", ".manifest"
#: Names of manifests count down from here, so that the newest comes first; older ones count up.
_LAST = 2**64 - 1
_FIRST_OF_OLD_NAMES = 2**63
#: What Lance appends to a message: the file of its source, and the line.
_PLACE_IN_SOURCE = re.compile(r", /\S+\.rs:\d+.*")
_ROWS = 256
_KEPT_OPEN = 4


def version_of(manifest: Path) -> int | None:
    """The version of a manifest's name; None if it is none.

    >>> version_of(Path("18446744073709551613.manifest")), version_of(Path("2.manifest"))
    (2, 2)
    """
    number = int(manifest.stem) if manifest.stem.isdecimal() else None
    if number is None or manifest.suffix != ENDING:
        return None
    return _LAST - number if number >= _FIRST_OF_OLD_NAMES else number


def _versions(folder: Path) -> dict[int, Path]:
    """The manifests by their versions, oldest first."""
    paths = (folder / VERSIONS).glob(f"*{ENDING}")
    return dict(sorted((v, path) for path in paths if (v := version_of(path)) is not None))


def _find_tables(source: Path) -> FoundTables | None:
    if source.suffix == ENDING and source.parent.name == VERSIONS:
        return FoundTables([source])
    if not source.is_dir() or not (source / VERSIONS).is_dir():
        return None
    versions = _versions(source)
    if not versions:
        raise DatasetFormatError(
            f"'{trim(source.name)}' is a dataset in the format Lance without a version in "
            f"'{VERSIONS}'. Copy the whole folder."
        )
    newest = max(versions)
    others = [f"'{versions[number].name}' ({number})" for number in versions if number != newest]
    note = f"'{trim(source.name)}': version {newest} is read."
    if others:
        shown = ", ".join(others[-5:])
        note += f" For an older one give its manifest in '{VERSIONS}', such as {shown}."
    return FoundTables([versions[newest]], (note,))


def _opened(manifest: Path) -> Any:
    """The dataset at that version. Raises DatasetFormatError, and SettingsError without pylance."""
    state = manifest.stat()
    return _kept_open(manifest, state.st_mtime_ns)


@lru_cache(_KEPT_OPEN)
def _kept_open(manifest: Path, _mtime_ns: int) -> Any:
    folder = manifest.parent.parent
    if manifest.parent.name != VERSIONS or version_of(manifest) is None:
        raise DatasetFormatError(
            f"'{trim(manifest.name)}' is no version of Lance. Give the folder with '{VERSIONS}'."
        )
    try:
        import lance
    except ImportError as problem:
        raise missing_extra("Reading Lance", "formats") from problem
    _refuse_links(folder)
    try:
        dataset = lance.dataset(str(folder), version=version_of(manifest))
    except Exception as problem:  # of any type: it passes errors of another language on
        raise DatasetFormatError(_sentence(folder, problem)) from problem
    if dataset.base_paths():
        raise DatasetFormatError(
            f"'{trim(folder.name)}' is a shallow clone, whose files lie elsewhere. Write it again "
            "as a dataset of its own, or give the one that it was cloned from."
        )
    return dataset


def _sentence(folder: Path, problem: BaseException) -> str:
    """What Lance says, without the place in its source."""
    reason = _PLACE_IN_SOURCE.sub("", (str(problem).splitlines() or ["?"])[0])
    return f"'{trim(folder.name)}' cannot be read by Lance: {trim(reason, 300)}."


def _refuse_links(folder: Path) -> None:
    """Lance opens files itself, and would follow a link."""
    root = folder.resolve()
    for path in folder.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise DatasetFormatError(
                f"'{trim(path.name)}' in '{trim(folder.name)}' is a link that leads out of it."
            )


def _blob_columns(schema: pa.Schema) -> list[str]:
    """The columns whose bytes lie apart, of both forms."""
    return [
        field.name for field in schema
        if "blob" in str(field.type)
        or (field.metadata or {}).get(b"lance-encoding:blob") == b"true"
    ]  # fmt: skip


def _rows(manifest: Path) -> Iterator[TableRow]:
    dataset = _opened(manifest)
    folder = manifest.parent.parent
    check_names(dataset.schema.names, folder.name)
    blobs = _blob_columns(dataset.schema)
    plain = [name for name in dataset.schema.names if name not in blobs]
    number = 0
    try:
        sample = dataset.head(100, columns=plain) if plain else None
        images, unread = byte_columns(
            pa.schema([dataset.schema.field(name) for name in plain]),
            lambda name: sample.column(name) if sample is not None else [],
        )
        for batch in dataset.to_batches(
            columns=[*plain, *blobs], batch_size=_ROWS, scan_in_order=True
        ):
            for row in range(batch.num_rows):
                values = {}
                for name, column in zip(batch.schema.names, batch.columns, strict=True):
                    address = f"{manifest.name}{SEPARATOR}{number}/{name}"
                    if name in blobs:
                        values[name] = _blob_cell(column[row], address)
                    elif name in images:
                        values[name] = image_cell(column[row], address)
                    elif name in unread:
                        values[name] = UNREAD_BYTES
                    else:
                        values[name] = value_of(column[row])
                number += 1
                yield TableRow(number, values)
    except Exception as problem:  # as above
        if number == 0:
            raise DatasetFormatError(_sentence(folder, problem)) from problem
        yield TableRow(number + 1, None, f"From here on: {_sentence(folder, problem)}")


def _blob_cell(cell: pa.Scalar, address: str) -> Any:
    """The cell tells where the bytes are; some are in a file or at an address of their own."""
    about = cell.as_py() or {}
    return about.get("blob_uri") or (EmbeddedImage(address) if about.get("size") else "")


def _picture(manifest: Path, inner: str) -> bytes:
    row, _, column = inner.partition("/")
    if not manifest.exists():
        there = ", ".join(map(str, _versions(manifest.parent.parent))) or "none"
        raise ImageError(
            f"Version {version_of(manifest)} of '{trim(manifest.parent.parent.name)}' was removed "
            f"(there: {there}). Import the dataset again."
        )
    dataset = _opened(manifest)
    place = None
    if column not in dataset.schema.names:
        column, _, last = column.rpartition("/")
        place = int(last)
    try:
        if column in _blob_columns(dataset.schema):
            (blob,) = dataset.take_blobs(column, indices=[int(row)])
            if blob.size() > MOST_BYTES:
                raise ValueError(f"{blob.size():,} bytes are too many")
            return bytes(blob.read())
        cell = dataset.take([int(row)], columns=[column]).column(0)[0].as_py()
    except (ValueError, IndexError):
        raise
    except Exception as problem:  # as above
        raise ImageError(_sentence(manifest.parent.parent, problem)) from problem
    content = image_bytes(cell if place is None else cell[place])
    if content is None:
        raise ValueError("the cell holds no image")
    return content


def _folder_of(name: str) -> str:
    """
    >>> _folder_of("train.lance/_versions/1.manifest"), _folder_of("_versions/1.manifest")
    ('train.lance/', '')
    """
    return name.rpartition(f"{VERSIONS}/")[0]


READER = TableReader((ENDING,), _rows, _picture, _find_tables, _folder_of)
