"""Values as MDS and LitData store them, by the name of their encoding.

Nothing is unpickled: a pickle runs whatever its writer wants. Columns of such and of arrays are
left out.
"""

import io
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from PIL import Image

from backend.datasets.safe_files.text_files import MOST_BYTES
from backend.features.streaming.nested_values import nested_value

_PICTURES = frozenset({"jpeg", "png", "pil", "image"})
_PICTURE_LISTS = frozenset(
    {"jpeg_array", "jpegarray", "list[jpeg]", "list[png]", "list[pil]"}
)  # fmt: skip
_SCALARS = (
    "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float16", "float32",
    "float64",
)  # fmt: skip


def _number(dtype: str) -> Callable[[bytes], Any]:
    return lambda content: np.frombuffer(content, np.dtype(dtype).newbyteorder("<"))[0].item()


def _text(content: bytes) -> str:
    return content.decode("utf-8")


_VALUES: Mapping[str, Callable[[bytes], Any]] = {
    "str": _text, "text": _text, "str_int": _text, "str_float": _text, "str_decimal": _text,
    "json": nested_value, "int": _number("int64"), "float": _number("float64"),
    "bool": lambda content: content[:1] == b"\1",
    **{name: _number(name) for name in _SCALARS},
}  # fmt: skip


def is_picture(encoding: str) -> bool:
    """Whether it is of one picture, or of several."""
    kind = encoding.partition(":")[0]
    return kind in _PICTURES or kind in _PICTURE_LISTS


def is_several(encoding: str) -> bool:
    return encoding in _PICTURE_LISTS


def is_read(encoding: str) -> bool:
    return is_picture(encoding) or encoding in _VALUES or encoding == "bytes"


def value_of(encoding: str, content: bytes) -> Any:
    """The value of a column that is no picture. Raises ValueError, IndexError."""
    return content if encoding == "bytes" else _VALUES[encoding](content)


def pictures_in(encoding: str, content: bytes) -> list[bytes]:
    """The pictures of a cell, as they would be in files. Raises ValueError, IndexError."""
    if not is_several(encoding):
        return [_as_file(encoding, content)]
    # A list begins with four bytes that mean nothing yet.
    start = 4 if encoding.startswith("list[") else 0
    (count,) = _unpack("<I", content, start)
    sizes = _unpack(f"<{count}I", content, start + 4) if 4 * count <= len(content) else ()
    start += 4 + 4 * count
    if start + sum(sizes) > len(content) or len(sizes) != count:
        raise ValueError("its list of pictures is cut")
    parts = []
    for size in sizes:
        kind = encoding.removeprefix("list[").removesuffix("]")
        parts.append(_as_file(kind, content[start : start + size]))
        start += size
    return parts


def _as_file(encoding: str, content: bytes) -> bytes:
    """`pil` is width, height and mode, then the pixels."""
    if encoding != "pil":
        return content
    width, height, letters = _unpack("<3I", content, 0)
    mode = content[12 : 12 + letters].decode("ascii", "replace")
    pixels = content[12 + letters :]
    if mode in ("P", "PA"):
        # Both formats write no palette, so that the picture would be black.
        raise ValueError(
            "its colours are lost: its writer does not store the palette. Write the dataset again "
            "from pictures in RGB"
        )
    if width * height > MOST_BYTES:
        raise ValueError(f"its size, {width} x {height}, is too large")
    try:
        picture = Image.frombytes(mode, (width, height), pixels)
        file = io.BytesIO()
        # PNG has no colours of print and no floats.
        picture.save(file, "PNG" if mode in ("1", "L", "LA", "RGB", "RGBA", "I;16") else "TIFF")
    except (OSError, KeyError) as problem:
        raise ValueError(f"its pixels cannot be read: {problem}") from problem
    return file.getvalue()


def _unpack(form: str, content: bytes, start: int) -> tuple[int, ...]:
    try:
        return struct.unpack_from(form, content, start)
    except struct.error as problem:
        raise ValueError("it is cut") from problem
