"""The location of a Parquet file's columns, read from its footer.

Arrow's own view of a column (`RowGroupMetaData.column`) terminates the process if the footer is
damaged, with an uncaught C++ exception. So the footer is parsed here, and Arrow is used only to
read rows, where it raises an error. Fields are those of FileMetaData in
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

import os
from dataclasses import dataclass
from typing import IO

from backend.datasets.thrift_compact import CompactReader

_MAGIC = b"PAR1"
#: Maximum size of a footer; with 150,000 column chunks it has about 20 million bytes.
_MOST_BYTES = 64_000_000


@dataclass(frozen=True, slots=True)
class Chunk:
    """A column chunk of a row group. `path`: its name, joined by dots if nested; `values`: number
    of values including nulls; `packed`: compressed size in bytes; `data_at`, `dictionary_at`: page
    offsets; `encodings`: their numbers; `nulls`: None if unknown."""

    path: str
    values: int
    packed: int
    data_at: int
    dictionary_at: int | None
    encodings: frozenset[int]
    nulls: int | None


@dataclass(frozen=True, slots=True)
class Group:
    rows: int
    chunks: tuple[Chunk, ...]


def read_footer(raw: IO[bytes]) -> tuple[Group, ...]:
    """The row groups, in order. Raises ValueError if the footer is damaged."""
    descriptor = raw.fileno()
    size = os.fstat(descriptor).st_size
    tail = os.pread(descriptor, 8, max(size - 8, 0))
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > size - 12:
        raise ValueError("its footer is missing or broken")
    if length > _MOST_BYTES:
        raise ValueError(
            f"its footer has {length:,} bytes, and at most {_MOST_BYTES:,} are read. Write the "
            "file with larger groups of rows, or as several files."
        )
    reader = CompactReader(os.pread(descriptor, length, size - 8 - length))
    groups: list[Group] | None = None
    try:
        for number, kind in reader.fields():
            if number == 4:
                groups = [_group(reader, inner) for inner in reader.elements(kind)]
            else:
                reader.skip(kind)
    except (IndexError, UnicodeDecodeError, ValueError) as problem:
        raise ValueError(f"its footer is broken: {problem}") from None
    if groups is None:
        raise ValueError("its footer is broken: it does not give the number of rows")
    return tuple(groups)


def _group(reader: CompactReader, kind: int) -> Group:
    rows, chunks = -1, []
    for number, inner in reader.struct(kind):
        if number == 1:
            chunks = [_chunk(reader, each) for each in reader.elements(inner)]
        elif number == 3:
            rows = reader.integer(inner)
        else:
            reader.skip(inner)
    if rows < 0 or rows > min((chunk.values for chunk in chunks), default=rows):
        raise ValueError(f"a group of {rows:,} rows has columns with fewer values")
    return Group(rows, tuple(chunks))


def _chunk(reader: CompactReader, kind: int) -> Chunk:
    made: Chunk | None = None
    for number, inner in reader.struct(kind):
        if number == 3:
            made = _column(reader, inner)
        else:
            reader.skip(inner)
    if made is None:
        raise ValueError("a column lies in another file")
    return made


def _column(reader: CompactReader, kind: int) -> Chunk:
    path, encodings = "", frozenset[int]()
    numbers: dict[int, int] = {}
    nulls: int | None = None
    for number, inner in reader.struct(kind):
        if number == 2:
            encodings = frozenset(reader.integer(each) for each in reader.elements(inner))
        elif number == 3:
            path = ".".join(reader.binary(each).decode() for each in reader.elements(inner))
        elif number in (5, 7, 9, 11):
            numbers[number] = reader.integer(inner)
        elif number == 12:
            nulls = _nulls(reader, inner)
        else:
            reader.skip(inner)
    if not {5, 7, 9} <= numbers.keys():
        raise ValueError(f"the column '{path}' has no position")
    return Chunk(path, numbers[5], numbers[7], numbers[9], numbers.get(11), encodings, nulls)


def _nulls(reader: CompactReader, kind: int) -> int | None:
    nulls = None
    for number, inner in reader.struct(kind):
        if number == 3:
            nulls = reader.integer(inner)
        else:
            reader.skip(inner)
    return nulls
