"""The decompressed size of a Parquet row group, determined before any of it is read.

The file's footer states it too, but cannot be trusted: here the page headers are read, which the
decoder itself uses (PageHeader of https://github.com/apache/parquet-format). Three things expand a
small file: compression, a dictionary value shared by all rows, and lists of repeated numbers.
Dictionaries are kept as such while reading; the others are limited.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import pyarrow.parquet as pq

from backend.datasets.parquet_footer import Chunk, CompactReader, Group, read_footer
from backend.datasets.text_files import MOST_BYTES

#: Maximum number of rows read at once.
MOST_ROWS = 2000
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}
#: Bytes of the definition and repetition levels of a value in a list.
_LEVELS = 4
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_DELTAS = frozenset((5, 6, 7))  # numbers, lengths of bytes, bytes
_DELTA_BYTE_ARRAY = 7
_HEADER_SIZES = (256, 1 << 16, 1 << 24)
_MOST_PAGES = 1_000_000


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
    shared = [file.schema.column(leaf).path for leaf in leaves if _is_kept_once(file, groups, leaf)]
    return OpenParquet(pq.ParquetFile(raw, read_dictionary=shared), raw, groups)


def rows_at_once(opened: OpenParquet, group: int, columns: Collection[str]) -> int:
    """How many rows of the group may be read at once, of the top-level `columns`. Raises ValueError
    if the whole group decompresses to too much, or its pages are broken."""
    file, size, rows = opened.file, 0, MOST_ROWS
    for number, chunk in enumerate(opened.groups[group].chunks):
        leaf = file.schema.column(number)
        if not any(leaf.path == name or leaf.path.startswith(f"{name}.") for name in columns):
            continue
        pages = list(_pages(opened.raw.fileno(), chunk))
        unpacked = sum(page.unpacked for page in pages)
        values = sum(page.values for page in pages if page.kind != _DICTIONARY)
        width = leaf.length if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS.get(
            leaf.physical_type, 0
        )  # fmt: skip
        expands = chunk.dictionary_at is not None and not _is_kept_once(file, opened.groups, number)
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
        try:
            return _page(CompactReader(content))
        except IndexError:
            if len(content) < size:
                break
        except ValueError as problem:
            raise ValueError(
                f"the header of the page at byte {position:,} is broken: {problem}"
            ) from None
    raise ValueError(f"the header of the page at byte {position:,} is truncated")


def _page(reader: CompactReader) -> tuple[_Page, int, int]:
    numbers = {1: -1, 2: -1, 3: -1}
    values = 0
    for number, kind in reader.fields():
        if number in numbers:
            numbers[number] = reader.integer(kind)
        elif number in (5, 7, 8):  # headers of data pages, dictionary pages, data pages v2
            for inner, inner_kind in reader.struct(kind):
                if inner == 1:
                    values = reader.integer(inner_kind)
                else:
                    reader.skip(inner_kind)
        else:
            reader.skip(kind)
    return _Page(numbers[1], numbers[2], values), numbers[3], reader.at
