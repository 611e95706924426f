"""Where captions stand in a text: the places, and how a new caption is written there so that every
other character stays."""

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from backend.datasets.columns import CAPTION_NAMES, OBJECT_NAMES, usual_name
from backend.datasets.reading.captions_txt import caption_place
from backend.datasets.reading.csv_table import DELIMITERS


class NotThere(ValueError):
    """The captions are not where they were at the import, or could be in several places."""


class OtherCaption(NotThere):
    """Another caption is where they were."""


@dataclass(frozen=True)
class CaptionChange:
    """A caption as it was imported, and as it is to be. `kind`: the column or field that has it,
    "": that of the dataset's captions."""

    before: str
    after: str
    kind: str = ""


@dataclass(frozen=True)
class Place:
    """Characters `start` to `end` say `value`; `name`: of the field or column, "" without one;
    `write`: another value, as it is written there. It may raise NotThere."""

    start: int
    end: int
    value: str
    name: str
    write: Callable[[str], str]


_CHANGED = "it has changed since the import: the caption is not there. Import the dataset again"
_PARTS = "its captions are parts of one text there, which is left alone. Correct them by hand"
_SEVERAL = "the caption stands there more than once. Say which column or field has the captions"


def change_text(
    text: str, changes: Sequence[CaptionChange], readings: Iterable[list[Place]], column: str = ""
) -> tuple[str, int]:
    """The text with the captions changed, and how many were changed already. `changes`: all its
    captions in order, those that stay too; `readings`: the places that it may have, by how it is
    read, of which the first with these captions counts; `column`: the stated field of captions.
    Raises NotThere: OtherCaption if the text says another caption, however that is written.

    >>> text = '["a", "b"]'
    >>> change_text(text, [CaptionChange("a", "b"), CaptionChange("b", "a")], [json_places(text)])
    ('["b", "a"]', 0)
    """
    reason = _CHANGED
    readings = list(readings)
    for places in readings:
        fitting = _fitting_places(places, changes, column)
        if len(fitting) == len(changes) and _are_in_order(fitting, changes):
            return _write(text, changes, fitting)
        reason = _SEVERAL if len(fitting) > len(changes) else reason
    for place in chain.from_iterable(readings):
        if inner_places := json_places(place.value):
            try:
                value, already_there = change_text(place.value, changes, [inner_places], column)
            except NotThere:
                continue
            if value != place.value:
                text = text[: place.start] + place.write(value) + text[place.end :]
            return text, already_there
    if reason == _CHANGED and any(
        all(change.before in place.value for change in changes)
        for place in chain.from_iterable(readings)
    ):
        reason = _PARTS
    says_other = reason == _CHANGED and all(
        _says_other(places, changes, column) for places in readings if places
    )
    raise (OtherCaption if says_other else NotThere)(reason)


def _says_other(places: list[Place], changes: Sequence[CaptionChange], column: str) -> bool:
    """Whether none of the captions is made of what the places of captions say, or of all that
    is said if these are unknown: an import joins tags and words, and takes marks away."""
    column = changes[0].kind or _caption_name(places, column)
    named = [place.value for place in places if place.name in ("", column)]
    said = _letters("".join(named or [place.value for place in places]))
    captions = {_letters(text) for change in changes for text in (change.before, change.after)}
    if len(named) == 1:
        return bool(said) and said not in captions
    return bool(said) and not any(caption in said for caption in captions)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _caption_name(places: list[Place], stated: str) -> str:
    """The field or column of captions; "" if no name tells."""
    names = [place.name for place in places]
    return stated or usual_name(names, CAPTION_NAMES) or usual_name(names, OBJECT_NAMES) or ""


def _fitting_places(
    places: list[Place], changes: Sequence[CaptionChange], column: str
) -> list[Place]:
    """The places with these captions: in the stated field, or in the one named like captions."""
    if any(change.kind for change in changes):
        # Of each kind one; places without a name are those of a text.
        return [
            place
            for change in changes
            for place in places
            if place.name in ("", change.kind) and place.value in (change.before, change.after)
        ]
    column = _caption_name(places, column)
    values = {text for change in changes for text in (change.before, change.after)}
    # What is empty says of itself that it is a caption only by its name.
    return [
        place
        for place in places
        if place.value in values and (place.name == column if column else bool(place.value))
    ]


def _are_in_order(places: list[Place], changes: Sequence[CaptionChange]) -> bool:
    pairs = zip(places, changes, strict=True)
    return all(place.value in (change.before, change.after) for place, change in pairs)


def _write(text: str, changes: Sequence[CaptionChange], places: list[Place]) -> tuple[str, int]:
    already_there = 0
    pairs = zip(places, changes, strict=True)
    for place, change in sorted(pairs, key=lambda pair: pair[0].start, reverse=True):
        if change.before == change.after:
            continue
        if place.value == change.after:
            already_there += 1
        else:
            text = text[: place.start] + place.write(change.after) + text[place.end :]
    return text, already_there


def text_readings(text: str) -> Iterator[list[Place]]:
    """A file with a caption: as a whole, without its last line end; as JSON; by its lines."""
    end = len(text.removesuffix("\n").removesuffix("\r"))
    yield [Place(0, end, text[:end], "", str)]
    if places := json_places(text):
        yield places
    places, position = [], 0
    for line in text.splitlines(keepends=True):
        value = line.strip()
        start = position + line.find(value)
        if value:
            places.append(Place(start, start + len(value), value, "", _one_line))
        position += len(line)
    yield places


def _one_line(caption: str) -> str:
    if len(caption.splitlines()) > 1 or caption != caption.strip():
        raise NotThere("each of its lines is a caption, and the new one has several lines")
    return caption


_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_PYTHON_TEXT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_BEFORE_VALUE = re.compile(r"\s*:")


def json_places(text: str) -> list[Place]:
    """The texts in JSON, or in a list or an object that Python has printed, each with the name of
    the field that it is in; none if it is neither."""
    if not text.lstrip().startswith(("[", "{")):
        return []
    pattern, parse = _JSON_TEXT, json.loads
    write: Callable[[str], str] = partial(json.dumps, ensure_ascii=text.isascii())
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        pattern, parse, write = _PYTHON_TEXT, ast.literal_eval, repr
    places, name = [], ""
    for match in pattern.finditer(text):
        try:
            value = parse(match[0])
        except (ValueError, SyntaxError):
            return []
        if _BEFORE_VALUE.match(text, match.end()):
            name = value
        else:
            places.append(Place(match.start(), match.end(), value, name, write))
    return places


def csv_places(text: str, header: Sequence[str], delimiter: str) -> list[Place]:
    """The cells of a record."""
    cells = []
    for (start, end), name in zip(_cell_spans(text, delimiter), header, strict=False):
        is_quoted = text.startswith('"', start)
        value = text[start + 1 : end - 1].replace('""', '"') if is_quoted else text[start:end]
        write = partial(_csv_cell, is_quoted=is_quoted, delimiter=delimiter)
        cells.append(Place(start, end, value, name, write))
    return cells


def listed_places(text: str) -> list[Place]:
    """The caption of a line that names its picture first; none if it names none."""
    if (place := caption_place(text)) is None:
        return []
    _, start, end, caption = place
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + len(text[start:end].rstrip())
    return [Place(start, end, caption.strip(), "", partial(_listed, text, start, end))]


def _listed(text: str, start: int, end: int, caption: str) -> str:
    """As the line has it now, if it is read so again, else in quotation marks."""
    is_quoted = text.startswith('"', start) and text.endswith('"', start, end)
    is_cell = is_quoted or text[:start].rstrip().endswith(",")
    quoted = _csv_cell(_one_line(caption), True, ",")
    for cell in (_csv_cell(caption, is_quoted, ",") if is_cell else caption, quoted):
        place = caption_place(text[:start] + cell + text[end:])
        if place is not None and place[3].strip() == caption:
            return cell
    raise NotThere("a line with the new caption would be read otherwise")


def _csv_cell(caption: str, is_quoted: bool, delimiter: str) -> str:
    if is_quoted or any(mark in caption for mark in (delimiter, '"', "\r", "\n")):
        return '"' + caption.replace('"', '""') + '"'
    return caption


def _cell_spans(text: str, delimiter: str) -> Iterator[tuple[int, int]]:
    quoted = re.compile(r'"(?:[^"]|"")*"')
    plain = re.compile(f"[^{re.escape(delimiter)}\r\n]*")
    position = 0
    while match := quoted.match(text, position) or plain.match(text, position):
        yield match.span()
        if not text.startswith(delimiter, match.end()):
            return
        position = match.end() + 1


def cells_of(text: str, delimiter: str) -> list[str]:
    """The cells of a text that is one record; none if it is not one."""
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error:
        return []
    return records[0] if len(records) == 1 else []


def delimiter_of(text: str, cells: Sequence[str], stated: str | None) -> str | None:
    """The delimiter by which the record has these cells; None if it has others."""
    delimiters = (stated,) if stated else DELIMITERS
    return next((mark for mark in delimiters if cells_of(text, mark) == list(cells)), None)
