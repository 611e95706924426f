"""Cells of Arrow tables as Python values, and memory-mapped Arrow files: only regular files, and
none that decompresses to gigabytes. A bad cell does not affect the others.

A file may be compressed buffer by buffer, and the first eight bytes of each give its decompressed
size (https://arrow.apache.org/docs/format/Columnar.html#compression). All sizes are checked before
anything is decompressed; the few message fields needed for that are parsed here, because pyarrow
does not expose them (format/Message.fbs, format/Schema.fbs of Arrow).
"""

import math
import mmap
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from backend.datasets.cells import EmbeddedImage, Unusable, trim
from backend.datasets.columns import IMAGE_NAMES
from backend.datasets.safe_files.picture_kinds import begins_like_picture
from backend.datasets.safe_files.regular_files import open_regular, open_within
from backend.datasets.safe_files.text_files import LONGEST_LINE, MOST_BYTES
from db.texts import has_controls

_FILE_MAGIC = b"ARROW1\0\0"
#: Values of MessageHeader in Message.fbs.
_DICTIONARY, _RECORDS = 2, 3
#: Cells by which is told what bytes are.
_MOST_PEEKED = 20


def arrow_table(path: Path, folders: Sequence[Path] = ()) -> pa.Table:
    """All of an Arrow stream or file. Uncompressed data stays on disk. `folders`: the resolved
    folders that it has to lie in; none: it may lie anywhere.

    Raises OSError if it is not a regular file or lies elsewhere, ValueError or pa.ArrowException if
    it is not Arrow or decompresses to too much.
    """
    stream = open_within(folders, path, math.inf) if folders else open_regular(path, math.inf)
    with stream as file:
        if not file.seek(0, 2):
            raise ValueError("it is empty")
        # The mapping keeps the file open as long as one of its buffers is used.
        content = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return table_in(content)


def table_in(content: pa.Buffer) -> pa.Table:
    """All of an Arrow stream or file in memory, or mapped to it. Raises as `arrow_table`."""
    is_file = content[: len(_FILE_MAGIC)].to_pybytes() == _FILE_MAGIC
    size = sum(_decompressed_sizes(content[len(_FILE_MAGIC) :] if is_file else content))
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
    """Raise ValueError if the column is not consistent in itself, before anything reads it."""
    try:
        chunk.validate()
        plain = _AS_BYTES.get(chunk.type)
        (chunk if plain is None else chunk.view(plain)).validate(full=True)
    except (pa.ArrowException, ValueError) as problem:
        reason = (str(problem).splitlines() or ["?"])[0][:200]
        raise ValueError(f"the column '{trim(name)}' is damaged: {reason}") from problem


def _decompressed_sizes(content: pa.Buffer) -> Iterator[int]:
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


def value_of(scalar: pa.Scalar) -> Any:
    """The cell's value. Dates that Python cannot represent (year 300,000; an unknown time zone)
    become text, and text that is not UTF-8 becomes bytes. A list larger than the limit for a line
    of text is `Unusable`."""
    try:
        if (size := _size(scalar)) > LONGEST_LINE:
            return Unusable(f"it holds {size:,} bytes, and at most {LONGEST_LINE:,} are read")
        return scalar.as_py()
    except Exception as problem:  # Arrow and time zones raise arbitrary exceptions
        try:
            return _piecewise(scalar, problem)
        except Exception as deeper:  # for example, struct field names that are not UTF-8
            return _unusable(deeper)


def values_of(cells: pa.Array) -> Iterable[Any]:
    """The values of all cells, as `value_of`: at once if all of them together would be a value of
    permitted size, else one by one."""
    try:
        if _size_of_all(cells) <= LONGEST_LINE:
            return cells.to_pylist()
    except Exception:  # of any type; the cell with the reason is found below
        pass
    return map(value_of, cells)


def _size(scalar: pa.Scalar) -> int:
    """Approximate bytes of a cell with several values; 0 for a single one. Shared values are
    counted each time they occur."""
    if not scalar.is_valid:
        return 0
    if isinstance(scalar, pa.StructScalar):
        return sum(_size(value) for _, value in scalar.items())
    values = getattr(scalar, "values", None)  # of all list types, and of maps
    return _size_of_all(values) if isinstance(values, pa.Array) else 0


def _size_of_all(values: pa.Array) -> int:
    kind = values.type
    if pa.types.is_struct(kind):
        return sum(map(_size_of_all, values.flatten()))
    if pa.types.is_dictionary(kind):
        if not _has_lengths(kind.value_type):
            return len(values) * max(1, values.dictionary.nbytes)
        lengths = pc.binary_length(values.dictionary)
        return pc.sum(pc.take(lengths, values.indices)).as_py() or 0
    if _has_lengths(kind):
        return pc.sum(pc.binary_length(values)).as_py() or 0
    if pa.types.is_nested(kind) and hasattr(values, "flatten"):
        return len(values) + _size_of_all(values.flatten())
    return values.nbytes


def _has_lengths(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    )  # fmt: skip


def _unusable(problem: BaseException) -> Unusable:
    return Unusable(f"it cannot be read: {str(problem)[:200]}")


def _piecewise(scalar: pa.Scalar, problem: BaseException) -> Any:
    """Convert part by part a cell that Arrow cannot convert as a whole. `problem`: the reason."""
    if isinstance(scalar, pa.StringScalar | pa.LargeStringScalar | pa.StringViewScalar):
        return scalar.as_buffer().to_pybytes()
    if isinstance(scalar, pa.DictionaryScalar):
        return value_of(scalar.value)
    if isinstance(scalar, pa.StructScalar):
        return {name: value_of(scalar[name]) for name in scalar}
    if isinstance(scalar, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
        return [value_of(item) for item in scalar.values]
    if pa.types.is_temporal(scalar.type):
        return f"{scalar.value} ({scalar.type})"
    return _unusable(problem)


def image_cell(cell: pa.Scalar, address: str) -> Any:
    """The row's value for a cell with an image: its `address` in its container, or the path of an
    external image. A list of images gives a list, with indices appended to the addresses."""
    if not cell.is_valid:
        return ""
    if isinstance(cell, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
        return [
            image_cell(element, f"{address}/{index}") for index, element in enumerate(cell.values)
        ]
    if isinstance(cell, pa.StructScalar) and not cell["bytes"].is_valid:
        return str(value_of(cell["path"]) or "") if "path" in cell else ""
    return EmbeddedImage(address)


def is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


class ByteColumns(NamedTuple):
    """Names of columns with pictures, and of those with bytes that are neither these nor text."""

    pictures: list[str]
    unread: list[str]


def byte_columns(schema: pa.Schema, sample: Callable[[str], Any]) -> ByteColumns:
    """Columns with images are structs with bytes, like Hugging Face's Image feature, bytes, or
    lists of either. Some writers store text as bytes too, or vectors: `sample` returns the first
    cells of a column, to detect this."""
    columns = ByteColumns([], [])
    for field in schema:
        kind = field.type
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if is_list(kind):
            kind = kind.value_type
        if pa.types.is_struct(kind):
            if kind.get_field_index("bytes") >= 0 and _is_binary(kind.field("bytes").type):
                columns.pictures.append(field.name)
        elif _is_binary(kind):
            is_named = field.name.strip().lower() in IMAGE_NAMES
            holds = "pictures" if is_named else kind_of_bytes(_contents(sample(field.name)))
            if holds == "pictures":
                columns.pictures.append(field.name)
            elif holds == "other bytes":
                columns.unread.append(field.name)
    return columns


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    )


def kind_of_bytes(contents: Iterable[bytes]) -> str:
    """What a column of bytes holds, by most of its first cells: "pictures", also if there is none,
    "text" or "other bytes"."""
    kinds = Counter(map(_kind_of, islice(contents, _MOST_PEEKED)))
    # Of as many the first counts: a broken cell is reported where it is read.
    order = ("text", "pictures", "other bytes")
    return max(order, key=lambda kind: kinds[kind]) if kinds else "pictures"


def _kind_of(content: bytes) -> str:
    if _is_text(content):  # also "BMW", which begins like a picture
        return "text"
    return "pictures" if begins_like_picture(content) else "other bytes"


def _contents(cells: Any) -> Iterator[bytes]:
    """What cells of bytes, or of lists of bytes, hold."""
    for cell in cells:
        content = cell.as_py() if cell.is_valid else None
        yield from filter(None, content if isinstance(content, list) else [content])


def _is_text(content: bytes) -> bool:
    """Whether it is UTF-8 without control characters."""
    try:
        return not has_controls("".join(content.decode("utf-8").split()))
    except UnicodeDecodeError:
        return False
