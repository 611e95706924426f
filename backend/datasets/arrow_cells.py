"""Cells of Arrow tables as Python values: a bad cell does not affect the others."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from backend.datasets.cells import Embedded, Unusable
from backend.datasets.columns import IMAGE_NAMES
from backend.datasets.text_files import LONGEST_LINE


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
            image_cell(element, f"{address}/{place}") for place, element in enumerate(cell.values)
        ]
    if isinstance(cell, pa.StructScalar) and not cell["bytes"].is_valid:
        return str(value_of(cell["path"]) or "") if "path" in cell else ""
    return Embedded(address)


def is_list(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def embedded_columns(schema: pa.Schema, sample: Callable[[str], Any]) -> list[str]:
    """Columns that contain images: structs with bytes, like Hugging Face's Image feature, lists of
    them, or bytes. Some writers store text as bytes too: `sample` returns the first cells of a
    column, to detect this."""

    def holds(field: pa.Field) -> bool:
        kind = field.type
        if is_list(kind) and pa.types.is_struct(kind.value_type):
            kind = kind.value_type
        if pa.types.is_struct(kind):
            return kind.get_field_index("bytes") >= 0 and _is_binary(kind.field("bytes").type)
        if not _is_binary(kind):
            return False
        return field.name.strip().lower() in IMAGE_NAMES or not _is_text(sample(field.name))

    return [field.name for field in schema if holds(field)]


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind)
    )


def _is_text(cells: Any) -> bool:
    """Whether the first non-empty cell is UTF-8 without control characters."""
    for cell in cells:
        if cell.is_valid and (content := cell.as_py()):
            try:
                return all(c.isprintable() or c.isspace() for c in content.decode("utf-8"))
            except UnicodeDecodeError:
                return False
    return False
