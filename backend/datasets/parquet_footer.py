"""The location of a Parquet file's columns, read from its footer.

Arrow's own view of a column (`RowGroupMetaData.column`) terminates the process if the footer is
damaged, with an uncaught C++ exception. So the footer is parsed here, and Arrow is used only to
read rows, where it raises an error. Fields are those of FileMetaData in
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

#: Field types of Thrift's compact protocol, as far as Parquet uses it:
#: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
_INTEGERS = (I16, I32, I64)
_DEEPEST = 16


class CompactReader:
    """Reads `content` from offset `at`. Every method raises IndexError if the content ends
    prematurely, and ValueError if it violates the protocol."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self._content = content
        self.at = at

    def fields(self) -> Iterator[tuple[int, int]]:
        """(number, kind) of each field of a struct; the caller must read or skip each value before
        requesting the next."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            yield number, head & 15

    def integer(self, kind: int) -> int:
        """The value of an integer field."""
        if kind not in _INTEGERS:
            raise ValueError("a field that must be a number has another type")
        return self._signed()

    def binary(self, kind: int) -> bytes:
        """The value of a binary field."""
        if kind != BINARY:
            raise ValueError("a field that must be text has another type")
        length = self._varint()
        self._jump(length)
        return self._content[self.at - length : self.at]

    def elements(self, kind: int) -> Iterator[int]:
        """The kind of each element of a list; the caller must read or skip each before the next."""
        if kind not in (LIST, SET):
            raise ValueError("a field that must be a list has another type")
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._varint()
        for _ in range(size):
            yield head & 15

    def struct(self, kind: int) -> Iterator[tuple[int, int]]:
        """As `fields`, for a struct field."""
        if kind != STRUCT:
            raise ValueError("a field that must be a struct has another type")
        return self.fields()

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip the value of a field."""
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if kind in _INTEGERS:
            self._varint()
        elif kind == BINARY:
            self._jump(self._varint())
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind in (LIST, SET):
            for inner in self.elements(kind):
                self._skip_element(inner, depth + 1)
        elif kind == MAP:
            self._skip_map(depth + 1)
        elif kind in (BYTE, DOUBLE):
            self._jump(1 if kind == BYTE else 8)
        elif kind not in (TRUE, FALSE):  # their value is in the field header
            raise ValueError(f"there is no field type {kind}")

    def _skip_element(self, kind: int, depth: int) -> None:
        if kind in (TRUE, FALSE):
            self._jump(1)
        else:
            self.skip(kind, depth)

    def _skip_map(self, depth: int) -> None:
        size = self._varint()
        kinds = self._byte() if size else 0
        for _ in range(size):
            self._skip_element(kinds >> 4, depth)
            self._skip_element(kinds & 15, depth)

    def _jump(self, length: int) -> None:
        self.at += length
        if self.at > len(self._content):
            raise IndexError

    def _byte(self) -> int:
        byte = self._content[self.at]
        self.at += 1
        return byte

    def _signed(self) -> int:
        """A zigzag-encoded integer: 0, -1, 1, -2, 2, …"""
        zigzag = self._varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("it holds a number without end")


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
    column_chunk: Chunk | None = None
    for number, inner in reader.struct(kind):
        if number == 3:
            column_chunk = _column(reader, inner)
        else:
            reader.skip(inner)
    if column_chunk is None:
        raise ValueError("a column lies in another file")
    return column_chunk


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
