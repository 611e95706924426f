"""Where the rows of a JSON document stand: of a list of objects, of an object with one such list or
with a list for each split, and the annotations of COCO.

`json` itself reads each value at its place, so that nothing but the rows' own characters changes.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from backend.datasets.splits import WORDS
from backend.features.in_place.captions_in_text import NotThere

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class DocumentRow:
    """Characters `start` to `end` of the document are the object `value`; `number`: as an import
    counts; `picture`: what the row does not name itself, "" otherwise."""

    number: int
    start: int
    end: int
    value: dict[str, Any]
    picture: str = ""


def is_lines(text: str) -> bool:
    """Whether a text is one object behind the other: JSON lines."""
    try:
        end = _value(text, _behind_blank(text, 0))[1]
    except NotThere:
        return False
    return text.lstrip().startswith("{") and _behind_blank(text, end) < len(text)


def document_rows(text: str) -> Iterator[DocumentRow]:
    """The rows in order. Raises NotThere for a document of another form."""
    start = _behind_blank(text, 0)
    if text.startswith("[", start):
        yield from _rows_in(text, start, 0)
        return
    lists = {name: place for name, place in _members(text, start) if text.startswith("[", place)}
    if lists.keys() >= {"images", "annotations"}:
        images = (value for *_, value in _elements(text, lists["images"]))
        names = {str(i.get("id")): i.get("file_name") for i in images if isinstance(i, dict)}
        for row in _rows_in(text, lists["annotations"], 0):
            picture = str(names.get(str(row.value.get("image_id"))) or "")
            yield DocumentRow(row.number, row.start, row.end, row.value, picture)
        return
    are_splits = bool(lists) and all(name.lower() in WORDS for name in lists)
    if not are_splits and (len(lists) != 1 or lists.keys() & {"images", "classes"}):
        raise NotThere(OTHER_FORM)
    number = 0
    for place in lists.values():
        for row in _rows_in(text, place, number):
            number = row.number
            yield row


OTHER_FORM = (
    "captions are written into JSON that is a list of objects or COCO's annotations only. Export "
    "the dataset instead"
)


def _rows_in(text: str, place: int, before: int) -> Iterator[DocumentRow]:
    """The rows of the list at this place, `before` rows behind the first."""
    for number, (start, end, value) in enumerate(_elements(text, place), before + 1):
        if isinstance(value, list):
            raise NotThere(OTHER_FORM)
        if isinstance(value, dict):
            yield DocumentRow(number, start, end, value)


def _elements(text: str, place: int) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of each element of the list that starts here."""
    place = _behind_blank(text, place + 1)
    while not text.startswith("]", place):
        value, end = _value(text, place)
        yield place, end, value
        place = _behind_separator(text, end, "]")


def _members(text: str, place: int) -> Iterator[tuple[str, int]]:
    """The names in the object that starts here, and where their values start."""
    if not text.startswith("{", place):
        raise NotThere(OTHER_FORM)
    place = _behind_blank(text, place + 1)
    while not text.startswith("}", place):
        name, end = _value(text, place)
        end = _behind_blank(text, end)
        start = _behind_blank(text, end + 1)
        if not isinstance(name, str) or not text.startswith(":", end):
            raise NotThere(_NO_JSON)
        yield name, start
        place = _behind_separator(text, _value(text, start)[1], "}")


_NO_JSON = "it is not valid JSON any more"


def _value(text: str, place: int) -> tuple[Any, int]:
    """The value that starts here, and where it ends."""
    try:
        return _DECODER.raw_decode(text, place)
    except (ValueError, RecursionError) as problem:
        raise NotThere(_NO_JSON) from problem


def _behind_separator(text: str, place: int, closing: str) -> int:
    """Where the next element starts, or the closing bracket."""
    place = _behind_blank(text, place)
    if text.startswith(closing, place):
        return place
    following = _behind_blank(text, place + 1)
    if not text.startswith(",", place) or text.startswith(closing, following):
        raise NotThere(_NO_JSON)
    return following


def _behind_blank(text: str, place: int) -> int:
    blank = _BLANK.match(text, place)
    return blank.end() if blank else place
