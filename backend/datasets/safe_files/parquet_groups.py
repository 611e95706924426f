"""The row groups of a Parquet file: where their columns are, and their decompressed size,
determined before any of it is read.

Arrow's own view of a column (`RowGroupMetaData.column`) terminates the process if the footer is
damaged, with an uncaught C++ exception. So the footer is parsed here, and Arrow is used only to
read rows, where it raises an error. Fields are those of
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift.

The footer states decompressed sizes too, but cannot be trusted: the page headers are read, which
the decoder itself uses. Three things expand a small file: compression, a dictionary value shared by
all rows, and lists of repeated numbers. Dictionaries are kept as such while reading; the others are
limited.
"""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import IO, Any

import pyarrow.parquet as pq

from backend.datasets.safe_files.text_files import MOST_BYTES

#: Maximum number of rows read at once.
MOST_ROWS = 2000
#: Maximum size of a footer; with 150,000 column chunks it has about 20 million bytes.
_MOST_FOOTER = 64_000_000
_MAGIC = b"PAR1"
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
#: Bytes of the definition and repetition levels of a value in a list.
_LEVELS = 4
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_DELTAS = frozenset((5, 6, 7))  # numbers, lengths of bytes, bytes
_DELTA_BYTE_ARRAY = 7
_HEADER_SIZES = (256, 1 << 16, 1 << 24)
_MOST_PAGES = 1_000_000
#: Field types of Thrift's compact protocol, as far as Parquet uses it:
#: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_DEEPEST = 16

#: The fields of a struct to keep, by number, and of those inside each.
_Selection = Mapping[int, "_Selection"]
#: Of FileMetaData: the groups with their columns (encodings, path, numbers, nulls) and rows.
_FOOTER: _Selection = {
    4: {1: {3: {2: {}, 3: {}, 5: {}, 7: {}, 9: {}, 11: {}, 12: {3: {}}}}, 3: {}},
}
#: Of PageHeader: kind and sizes, and the number of values in a page of data, of a dictionary, or of
#: data in the second version.
_PAGE: _Selection = {1: {}, 2: {}, 3: {}, 5: {1: {}}, 7: {1: {}}, 8: {1: {}}}


class _CompactReader:
    """Reads `content` from its beginning. Raises IndexError if it ends prematurely, and ValueError
    if it violates the protocol."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    def struct(self, selection: _Selection | None, depth: int = 0) -> dict[int, Any]:
        """The selected fields of the struct that begins here, by number; the others are skipped."""
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._read_signed()
            inner = selection.get(number) if selection else None
            value = self._value(head & 15, inner, depth + 1)
            if inner is not None:
                fields[number] = value
        return fields

    def _value(self, kind: int, selection: _Selection | None, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if kind in (_TRUE, _FALSE):  # it is in the header of the field
            return kind == _TRUE
        if kind in (_I16, _I32, _I64):
            return self._read_signed()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind in (_BYTE, _DOUBLE):
            return self._bytes(1 if kind == _BYTE else 8)
        if kind == _STRUCT:
            return self.struct(selection, depth)
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            elements = (self._element(head & 15, selection, depth) for _ in range(size))
            return list(elements) if selection is not None else sum(1 for _ in elements)
        if kind == _MAP:
            size = self._varint()
            kinds = self._byte() if size else 0
            for _ in range(size):
                self._element(kinds >> 4, None, depth)
                self._element(kinds & 15, None, depth)
            return None
        raise ValueError(f"there is no field type {kind}")

    def _element(self, kind: int, selection: _Selection | None, depth: int) -> Any:
        is_truth = kind in (_TRUE, _FALSE)
        return self._byte() if is_truth else self._value(kind, selection, depth + 1)

    def _bytes(self, length: int) -> bytes:
        self.at += length
        if self.at > len(self._content):
            raise IndexError
        return self._content[self.at - length : self.at]

    def _byte(self) -> int:
        byte = self._content[self.at]
        self.at += 1
        return byte

    def _read_signed(self) -> int:
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
    if length > _MOST_FOOTER:
        raise ValueError(
            f"its footer has {length:,} bytes, and at most {_MOST_FOOTER:,} are read. Write the "
            "file with larger groups of rows, or as several files."
        )
    try:
        footer = _CompactReader(os.pread(descriptor, length, size - 8 - length)).struct(_FOOTER)
        return tuple(map(_group, footer[4]))
    except (IndexError, KeyError, TypeError, AttributeError):
        raise ValueError(
            "its footer is broken: a field is missing, ends too early or has another type"
        ) from None
    except ValueError as problem:
        raise ValueError(f"its footer is broken: {problem}") from None


def _group(fields: dict[int, Any]) -> Group:
    rows, chunks = index(fields[3]), []
    for column in fields.get(1, ()):
        about = column[3]  # missing if the column lies in another file
        values, packed, data_at = (index(about[number]) for number in (5, 7, 9))
        dictionary_at, nulls = about.get(11), about.get(12, {}).get(3)
        chunks.append(
            Chunk(
                ".".join(part.decode() for part in about.get(3, ())),
                values,
                packed,
                data_at,
                None if dictionary_at is None else index(dictionary_at),
                frozenset(map(index, about.get(2, ()))),
                None if nulls is None else index(nulls),
            )
        )
    if rows < 0 or rows > min((chunk.values for chunk in chunks), default=rows):
        raise ValueError(f"a group of {rows:,} rows has columns with fewer values")
    return Group(rows, tuple(chunks))


@dataclass(frozen=True)
class OpenParquet:
    """A file whose repeated text is kept as dictionaries, with the location of its columns."""

    file: pq.ParquetFile
    raw: IO[bytes]
    groups: tuple[Group, ...]


def open_parquet(raw: IO[bytes]) -> OpenParquet:
    """Open a Parquet file. Raises as `pq.ParquetFile`, and ValueError if the footer is damaged."""
    file, groups = pq.ParquetFile(raw), read_footer(raw)
    if any(len(group.chunks) != len(file.schema) for group in groups):
        raise ValueError("its footer is broken: a group lacks columns")
    leaves = range(len(file.schema))
    dictionary_columns = [
        file.schema.column(leaf).path for leaf in leaves if _is_kept_once(file, groups, leaf)
    ]
    return OpenParquet(pq.ParquetFile(raw, read_dictionary=dictionary_columns), raw, groups)


def rows_at_once(parquet: OpenParquet, group: int, columns: Collection[str]) -> int:
    """How many rows of the group may be read at once, of the top-level `columns`. Raises ValueError
    if the whole group decompresses to too much, or its pages are broken."""
    file, size, rows = parquet.file, 0, MOST_ROWS
    for number, chunk in enumerate(parquet.groups[group].chunks):
        leaf = file.schema.column(number)
        if not any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in columns):
            continue
        pages = list(_pages(parquet.raw.fileno(), chunk))
        unpacked = sum(page.unpacked for page in pages)
        values = sum(page.values for page in pages if page.kind != _DICTIONARY)
        width = leaf.length if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(
            leaf.physical_type, 0
        )  # fmt: skip
        expands = chunk.dictionary_at is not None and not _is_kept_once(
            file, parquet.groups, number
        )
        if _DELTA_BYTE_ARRAY in chunk.encodings or (expands and not width):
            # A value may be as long as its page, even if few bytes of it are stored.
            width = max((page.unpacked for page in pages), default=0)
        if leaf.max_repetition_level:
            size += max(unpacked, values * (width + _LEVELS))
        else:
            size += unpacked
            rows = min(rows, MOST_BYTES // max(width, 1))
    if size > MOST_BYTES:
        raise ValueError(
            f"together they unpack into {size:,} bytes, and at most {MOST_BYTES:,} are read at "
            "once. Write the file with smaller groups of rows (row_group_size)."
        )
    return max(rows, 1)


def _is_kept_once(file: pq.ParquetFile, groups: Sequence[Group], leaf: int) -> bool:
    """Whether to read a column as a dictionary: it contains text or bytes, is dictionary-encoded,
    and has no encoding that Arrow cannot read as a dictionary."""
    about = file.schema.column(leaf)
    if about.physical_type != "BYTE_ARRAY" or about.logical_type.type == "DECIMAL":
        return False
    chunks = [group.chunks[leaf] for group in groups]
    return any(chunk.dictionary_at is not None for chunk in chunks) and not any(
        chunk.encodings & _DELTAS for chunk in chunks
    )


@dataclass(frozen=True)
class _Page:
    kind: int
    unpacked: int
    values: int


def _pages(descriptor: int, chunk: Chunk) -> Iterator[_Page]:
    """The pages of a column in a row group, as the decoder finds them. Raises ValueError."""
    position = chunk.data_at
    if 0 < (chunk.dictionary_at or 0) < position:
        position = chunk.dictionary_at or 0
    end, value_count = position + chunk.packed, 0
    for _ in range(_MOST_PAGES):
        if position >= end or value_count >= chunk.values:
            return
        page, packed, size = _header(descriptor, position, end)
        if min(page.kind, page.unpacked, packed, page.values) < 0:
            raise ValueError(f"the header of the page at byte {position:,} is broken")
        yield page
        value_count += page.values if page.kind in (_DATA, _DATA_V2) else 0
        position += size + packed
    raise ValueError("it has too many pages")


def _header(descriptor: int, position: int, end: int) -> tuple[_Page, int, int]:
    """The page at `position`, its compressed size, and the size of its header, in bytes."""
    for size in _HEADER_SIZES:
        content = os.pread(descriptor, min(size, end - position), position)
        reader = _CompactReader(content)
        try:
            fields = reader.struct(_PAGE)
            kind, unpacked, packed = (index(fields.get(number, -1)) for number in (1, 2, 3))
            about = fields.get(5) or fields.get(7) or fields.get(8) or {}
            return _Page(kind, unpacked, index(about.get(1, 0))), packed, reader.at
        except IndexError:
            if len(content) < size:
                break
        except (ValueError, TypeError, AttributeError) as problem:
            raise ValueError(
                f"the header of the page at byte {position:,} is broken: {problem}"
            ) from None
    raise ValueError(f"the header of the page at byte {position:,} is truncated")
