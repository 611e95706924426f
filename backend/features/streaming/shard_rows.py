"""Rows of shards: files that begin with the positions of their samples, whose columns an
`index.json` beside them tells.

    the number of samples, and where each begins and the last ends: four bytes each, little-endian
    samples: sizes of the columns that have no fixed one, four bytes each, then the values
"""

import json
import mmap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa

from backend.datasets.cells import UNREAD_BYTES, EmbeddedImage, TableRow, trim
from backend.datasets.columns import IMAGE_NAMES
from backend.datasets.reading.tables import rows_of_arrow
from backend.datasets.safe_files.arrow_cells import ByteColumns, kind_of_bytes, table_in
from backend.datasets.safe_files.containers import SEPARATOR, ArrowRows, image_bytes
from backend.datasets.safe_files.regular_files import open_regular, read_within
from backend.datasets.safe_files.text_files import MOST_BYTES
from backend.datasets.table_readers import FoundTables, TableReader
from backend.errors import DatasetFormatError
from backend.features.streaming.stored_values import (
    is_picture,
    is_read,
    is_several,
    pictures_in,
    value_of,
)

INDEX = "index.json"
_MOST_INDEX = 256_000_000
_KEPT_OPEN = 4
#: Samples that are searched for what a column of bytes holds.
_MOST_SAMPLES = 100
#: At the end of chunks with Arrow tables (litdata 0.2.76).
_ARROW_MARK = b"LDARW01\0"
_KINDS = {dict: "an object", list: "a list", str: "a text", int: "a whole number"}
#: What to do about an index that is damaged.
RESTORE = (
    "Copy it again from where the dataset came from, or write the dataset again: without it, its "
    "shards cannot be read."
)


def index_field(record: Any, place: str, name: str, kind: type) -> Any:
    """A field of an index. `place`: of the record in it. Raises DatasetFormatError, which names the
    field."""
    if not isinstance(record, dict):
        raise index_problem(place, f"holds {_shown(record)}, not an object")
    value = record.get(name)
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    is_gone = name not in record
    state = "is missing" if is_gone else f"holds {_shown(value)}, not {_KINDS[kind]}"
    raise index_problem(f"{place}.{name}", state)


def index_problem(place: str, state: str) -> DatasetFormatError:
    return DatasetFormatError(
        f"'{INDEX}' is no complete index of MDS or LitData: the field '{trim(place)}' {state}. "
        f"{RESTORE}"
    )


def _shown(value: Any) -> str:
    return trim(json.dumps(value), 60)


@dataclass(frozen=True)
class ShardColumn:
    """`size`: in bytes, None if each value has its own. Raises TypeError for what an index cannot
    mean."""

    name: str
    encoding: str
    size: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.encoding, str):
            raise TypeError("the name or encoding of a column is no text")
        if self.size is not None and (not isinstance(self.size, int) or self.size < 0):
            raise TypeError("the size of a column is no number of bytes")


@dataclass(frozen=True)
class ShardForm:
    """What an index tells of one shard. `samples`: their number; `unpacked`: bytes of a compressed
    one, None if it is not compressed."""

    columns: tuple[ShardColumn, ...]
    samples: int
    unpacked: int | None = None


@dataclass(frozen=True)
class StreamFormat:
    """MDS or LitData. `name`: for people; `shards_in`: the shards of an index by the names of their
    files, None if it is of another format."""

    name: str
    shards_in: Callable[[Any], Mapping[str, ShardForm] | None]

    def reader(self, *endings: str) -> TableReader:
        return TableReader(
            endings, partial(_rows, self), partial(_picture, self), partial(_find_tables, self)
        )

    def shards_of(self, folder: Path) -> Mapping[str, ShardForm] | None:
        """The shards of a folder; None if it is of another format. Raises DatasetFormatError."""
        path = folder / INDEX
        try:
            state = path.stat()
            return _shards(self, folder, state.st_mtime_ns, state.st_size)
        except FileNotFoundError:
            return None
        except (LookupError, TypeError, AttributeError, OverflowError) as problem:
            raise DatasetFormatError(
                f"'{INDEX}' is no complete index of {self.name}: {problem!r}. {RESTORE}"
            ) from problem
        except (OSError, ValueError, RecursionError) as problem:
            raise DatasetFormatError(
                f"'{INDEX}', an index of MDS or LitData, cannot be read: "
                f"{trim(str(problem), 200)}. {RESTORE}"
            ) from problem

    def shard_form(self, path: Path) -> ShardForm:
        """Raises DatasetFormatError if no index beside the file names it."""
        shards = self.shards_of(path.parent)
        if shards is None or path.name not in shards:
            raise DatasetFormatError(
                f"'{trim(path.name)}' would be a shard of {self.name}, but no {INDEX} beside it "
                "tells what is in it. Give the folder that its writer wrote."
            )
        return shards[path.name]


@lru_cache(_KEPT_OPEN)
def _shards(
    form: StreamFormat, folder: Path, _mtime_ns: int, _size: int
) -> Mapping[str, ShardForm] | None:
    return form.shards_in(json.loads(read_within(folder, folder / INDEX, _MOST_INDEX)))


def _find_tables(form: StreamFormat, source: Path) -> FoundTables | None:
    folder = source if source.is_dir() else source.parent
    if not source.is_dir() and source.name != INDEX:
        return None
    shards = form.shards_of(folder)
    if shards is None:
        return None
    if not shards:
        raise DatasetFormatError(f"'{INDEX}' lists no shard of {form.name}. {RESTORE}")
    outside = [name for name in shards if not _is_below(name)]
    missing = [name for name in shards if name not in outside and not (folder / name).is_file()]
    if outside or len(missing) == len(shards):
        raise DatasetFormatError(
            f"'{INDEX}' lists {len(shards):,} shards of {form.name}; "
            f"'{trim((outside or missing)[0])}' is not beside it. Give the whole folder."
        )
    notes = []
    if missing:
        notes.append(
            f"'{INDEX}' names shards that are not here: {len(missing):,}, such as "
            f"'{trim(missing[0])}'."
        )
    columns = {column for shard in shards.values() for column in shard.columns}
    if unread := sorted({f"'{trim(c.name)}' ({trim(c.encoding)})" for c in columns
                         if not is_read(c.encoding)}):  # fmt: skip
        notes.append(f"Columns of {form.name} that are not read: {', '.join(unread[:10])}.")
    return FoundTables([folder / name for name in shards if name not in missing], tuple(notes))


def _is_below(name: str) -> bool:
    """Whether it may be a shard beside an index, or in a subfolder of it, as in a merged one.

    >>> _is_below("shard.0.mds"), _is_below("0/shard.0.mds"), _is_below("../a"), _is_below("/a")
    (True, True, False, False)
    """
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name


class _Shard:
    """The samples of a shard."""

    def __init__(self, path: Path, form: ShardForm) -> None:
        self.form, self._content = form, _content_of(path, form)
        end = 4 + 4 * (form.samples + 1)
        if form.samples < 0 or len(self._content) < end:
            raise ValueError("it ends before its samples")
        count = int.from_bytes(self._content[:4], "little")
        if count != form.samples:
            raise ValueError(f"it has {count:,} samples, and '{INDEX}' says {form.samples:,}")
        #: The samples of a chunk of LitData whose values are all plain: its body holds none.
        self.table = _arrow_footer(self._content)
        if self.table is not None and self.table.num_rows != form.samples:
            raise ValueError(f"its table has {self.table.num_rows:,} samples, not {count:,}")
        self._starts = np.frombuffer(self._content[4:end], "<u4")

    def cell(self, row: int, name: str) -> tuple[ShardColumn, bytes]:
        return next(cell for cell in self.cells(row) if cell[0].name == name)

    def cells(self, row: int) -> Iterator[tuple[ShardColumn, bytes]]:
        """The columns of a sample (from 0) with their bytes. Raises ValueError, IndexError."""
        if not 0 <= row < self.form.samples:
            raise IndexError(f"there is no sample {row}")
        start, end = int(self._starts[row]), int(self._starts[row + 1])
        without_size = [c for c in self.form.columns if c.size is None]
        sizes = iter(np.frombuffer(self._content[start : start + 4 * len(without_size)], "<u4"))
        start += 4 * len(without_size)
        for column in self.form.columns:
            size = int(next(sizes, 0)) if column.size is None else column.size
            if start + size > min(end, len(self._content)):
                raise ValueError("the sample is cut")
            yield column, bytes(self._content[start : start + size])
            start += size


def _arrow_footer(content: memoryview) -> pa.Table | None:
    """The table at the end of a chunk, before its length and a mark; None without the mark. Raises
    ValueError, pa.ArrowException."""
    if bytes(content[-len(_ARROW_MARK) :]) != _ARROW_MARK:
        return None
    end = len(content) - len(_ARROW_MARK) - 4
    start = end - int.from_bytes(content[end : end + 4], "little")
    if not 0 <= start < end:
        raise ValueError("the table at its end is cut")
    return table_in(pa.py_buffer(content[start:end]))


def _content_of(path: Path, form: ShardForm) -> Any:
    with open_regular(path) as file:
        if form.unpacked is None:
            if not file.seek(0, 2):
                raise ValueError("it is empty")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        if form.unpacked > MOST_BYTES:
            raise ValueError(
                f"it unpacks into {form.unpacked:,} bytes, and at most {MOST_BYTES:,} are read"
            )
        with pa.CompressedInputStream(file, "zstd") as stream:
            return memoryview(stream.read(form.unpacked))


@lru_cache(_KEPT_OPEN)
def _kept_open(path: Path, form: ShardForm, _mtime_ns: int, _size: int) -> _Shard:
    return _Shard(path, form)


def _opened(format: StreamFormat, path: Path) -> _Shard:
    state = path.stat()
    return _kept_open(path, format.shard_form(path), state.st_mtime_ns, state.st_size)


def _rows(format: StreamFormat, path: Path) -> Iterator[TableRow]:
    try:
        shard = _opened(format, path)
    except (OSError, ValueError, pa.ArrowException) as problem:
        raise DatasetFormatError(f"'{path.name}' cannot be read: {problem}.") from problem
    if shard.table is not None:
        yield from rows_of_arrow(shard.table, path)
        return
    byte_columns = _byte_columns(shard)
    for row in range(shard.form.samples):
        try:
            cells = [cell for cell in shard.cells(row) if is_read(cell[0].encoding)]
            values = {
                column.name: _cell(path, row, column, content, byte_columns)
                for column, content in cells
            }
        except (ValueError, IndexError, RecursionError) as problem:
            yield TableRow(row + 1, None, f"This sample cannot be read: {problem}.")
            continue
        yield TableRow(row + 1, values)


def _byte_columns(shard: _Shard) -> ByteColumns:
    """The columns with pictures, and those with other bytes; bytes may be text as well."""
    columns = ByteColumns([], [])
    for column in shard.form.columns:
        is_named = column.name.strip().lower() in IMAGE_NAMES
        holds = "text"
        if is_picture(column.encoding) or (column.encoding == "bytes" and is_named):
            holds = "pictures"
        elif column.encoding == "bytes":
            holds = kind_of_bytes(_contents(shard, column.name))
        if holds == "pictures":
            columns.pictures.append(column.name)
        elif holds == "other bytes":
            columns.unread.append(column.name)
    return columns


def _contents(shard: _Shard, name: str) -> Iterator[bytes]:
    """What the first samples hold in a column."""
    for row in range(min(shard.form.samples, _MOST_SAMPLES)):
        with suppress(ValueError, IndexError):  # reported where they are read
            if content := shard.cell(row, name)[1]:
                yield content


def _cell(path: Path, row: int, column: ShardColumn, content: bytes, columns: ByteColumns) -> Any:
    if column.name in columns.unread:
        return UNREAD_BYTES
    if column.name not in columns.pictures:
        return value_of(column.encoding, content)
    address = f"{path.name}{SEPARATOR}{row}/{column.name}"
    if not is_several(column.encoding):
        return EmbeddedImage(address) if content else ""
    count = len(pictures_in(column.encoding, content))
    return [EmbeddedImage(f"{address}/{place}") for place in range(count)]


def _picture(format: StreamFormat, path: Path, inner: str) -> bytes:
    row, _, name = inner.partition("/")
    shard = _opened(format, path)
    if shard.table is not None:
        return _picture_in_table(shard.table, int(row), name)
    names = {column.name for column in shard.form.columns}
    place = 0
    if name not in names:
        name, _, last = name.rpartition("/")
        place = int(last)
    if name not in names:
        raise ValueError(f"there is no column '{trim(name)}'")
    column, content = shard.cell(int(row), name)
    return pictures_in(column.encoding, content)[place]


def _picture_in_table(table: pa.Table, row: int, name: str) -> bytes:
    """Raises ValueError, LookupError."""
    content = image_bytes(ArrowRows(table).cell(row, name))
    if content is None:
        raise ValueError("the cell holds no picture")
    return content
