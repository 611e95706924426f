"""Projects and annotations of the VGG Image Annotator: an object for each picture, with its
attributes in `file_attributes`, at the top of the file or in `_via_img_metadata`; in its CSV a row
for each region of a picture, below each other."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from backend.datasets.cells import TableRow, UniqueNames, json_object
from backend.datasets.reading.json_stream import JsonFile
from backend.datasets.reading.row_forms import RowContext, RowForm
from backend.errors import DatasetFormatError

_PLACES = ("", "_via_img_metadata")
_NAME, _ATTRIBUTES = "filename", "file_attributes"
_OF_CSV = {_NAME, _ATTRIBUTES, "region_count", "region_id"}


def _rows_of_file(file: JsonFile) -> Iterator[TableRow] | None:
    """A row per picture, with the attributes of the file as columns; None for another file."""
    if file.is_array or file.is_lines or file.arrays.keys() - {"_via_image_id_list"}:
        return None
    for place in _PLACES:
        if place and place not in file.kinds:
            continue
        fields = [set(fields) for _, _, fields in islice(file.beginnings(place), 3)]
        if fields and all(names >= {_NAME, _ATTRIBUTES} for names in fields):
            return _rows_in(file, place)
    return None


def _rows_in(file: JsonFile, place: str) -> Iterator[TableRow]:
    for number, (_, picture) in enumerate(file.members(place), 1):
        attributes = picture.get(_ATTRIBUTES) if isinstance(picture, UniqueNames) else None
        if not isinstance(attributes, UniqueNames):
            yield TableRow(number, None, f"This picture has no '{_ATTRIBUTES}'.")
        elif picture.twice is not None or attributes.twice is not None:
            yield (picture if picture.twice is not None else attributes).row(number)
        else:
            yield TableRow(number, _columns(picture, attributes))


def _is_csv_row(values: Mapping[str, Any], context: RowContext) -> bool:
    return values.keys() >= _OF_CSV and not context.states_caption(values)


def _rows(row: TableRow, values: Mapping[str, Any], context: RowContext) -> Iterator[TableRow]:
    """The row of the picture, with the attributes of the file as columns; none for a further region
    of it, which repeats what the row before says."""
    if all(values[name] == context.before.get(name) for name in (_NAME, _ATTRIBUTES)):
        return
    try:
        attributes = json_object(str(values[_ATTRIBUTES] or "{}"))
    except (DatasetFormatError, ValueError, RecursionError):
        yield TableRow(row.number, None, f"Its '{_ATTRIBUTES}' is no JSON object.")
        return
    yield replace(row, values=_columns(values, attributes))


def _columns(picture: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a picture, whose own file name stands against an attribute of that name."""
    others = {name: value for name, value in picture.items() if name != _ATTRIBUTES}
    return {**others, **attributes, _NAME: picture.get(_NAME)}


FORM = RowForm(_is_csv_row, _rows, _rows_of_file)
