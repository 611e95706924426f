"""Memory-mapped Arrow files: only regular files, and none that decompresses to gigabytes.

A file may be compressed buffer by buffer, and the first eight bytes of each give its decompressed
size (https://arrow.apache.org/docs/format/Columnar.html#compression). All sizes are checked before
anything is decompressed; the few message fields needed for that are parsed here, because pyarrow
does not expose them (format/Message.fbs, format/Schema.fbs of Arrow).
"""

import math
import mmap
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from backend.datasets.cells import shown
from backend.datasets.regular_files import open_regular, open_within
from backend.datasets.text_files import MOST_BYTES

_FILE_MAGIC = b"ARROW1\0\0"
#: Values of MessageHeader in Message.fbs.
_DICTIONARY, _RECORDS = 2, 3


def arrow_table(path: Path, folders: Sequence[Path] = ()) -> pa.Table:
    """All of an Arrow stream or file. Uncompressed data stays on disk. `folders`: the resolved
    folders that it has to lie in; none: it may lie anywhere.

    Raises OSError if it is not a regular file or lies elsewhere, ValueError or pa.ArrowException if
    it is not Arrow or decompresses to too much.
    """
    opened = open_within(folders, path, math.inf) if folders else open_regular(path, math.inf)
    with opened as file:
        if not file.seek(0, 2):
            raise ValueError("it is empty")
        # The mapping keeps the file open as long as one of its buffers is used.
        content = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    is_file = content[: len(_FILE_MAGIC)].to_pybytes() == _FILE_MAGIC
    size = sum(_unpacked(content[len(_FILE_MAGIC) :] if is_file else content))
    if size > MOST_BYTES:
        raise ValueError(
            f"it unpacks into {size:,} bytes, and at most {MOST_BYTES:,} are read at once. Write "
            "it without compression, or as Parquet"
        )
    source = pa.BufferReader(content)
    table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source).read_all()
    for name, column in zip(table.column_names, table.columns, strict=True):
        for chunk in column.chunks:
            _check(chunk, name)
    return table


#: Binary types to validate text without requiring UTF-8, which is checked row by row.
_AS_BYTES = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}


def _check(chunk: pa.Array, name: str) -> None:
    """Raise ValueError if offsets point outside the buffers: reading could crash the process."""
    try:
        chunk.validate()
        plain = _AS_BYTES.get(chunk.type)
        (chunk if plain is None else chunk.view(plain)).validate(full=True)
    except (pa.ArrowException, ValueError) as problem:
        reason = (str(problem).splitlines() or ["?"])[0][:200]
        raise ValueError(f"the column '{shown(name)}' is damaged: {reason}") from problem


def _unpacked(content: pa.Buffer) -> Iterator[int]:
    """Decompressed size of each compressed message in bytes."""
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(content))
    while True:
        try:
            message = messages.read_next_message()
        except StopIteration:
            return
        yield _unpacked_message(message.metadata.to_pybytes(), message.body)


def _unpacked_message(about: bytes, body: pa.Buffer | None) -> int:
    try:
        (root,) = struct.unpack_from("<I", about)
        kind = _field(about, root, 1)
        header = _table(about, root, 2)
        if kind is None or header is None or about[kind] not in (_DICTIONARY, _RECORDS):
            return 0
        records = _table(about, header, 1) if about[kind] == _DICTIONARY else header
        if records is None or body is None or _table(about, records, 3) is None:
            return 0  # not compressed
        buffers = _table(about, records, 2)
        if buffers is None:
            return 0
        (count,) = struct.unpack_from("<I", about, buffers)
        total = 0
        for offset, length in struct.iter_unpack(
            "<qq", about[buffers + 4 : buffers + 4 + 16 * count]
        ):
            if length >= 8:
                (size,) = struct.unpack("<q", body[offset : offset + 8].to_pybytes())
                total += size if size >= 0 else length - 8
        return total
    except (struct.error, IndexError) as problem:
        raise ValueError(f"one of its messages is broken: {problem}") from problem


def _field(about: bytes, table: int, number: int) -> int | None:
    """The position of a field in a FlatBuffers table; None if the table does not have it."""
    (back,) = struct.unpack_from("<i", about, table)
    start = table - back
    (size,) = struct.unpack_from("<H", about, start)
    if 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", about, start + 4 + 2 * number)
    return table + offset if offset else None


def _table(about: bytes, table: int, number: int) -> int | None:
    """The position of the table or vector that a field refers to; None without that field."""
    place = _field(about, table, number)
    return None if place is None else place + struct.unpack_from("<I", about, place)[0]
