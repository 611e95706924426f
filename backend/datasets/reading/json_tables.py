"""Tables that data frames write as one JSON object: an object for each column (pandas' `to_json`),
a list for each (`to_dict("list")`), or the names and the rows apart (`orient="split"`).

They are read row by row, every column at its own place of the file if there are not too many.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice, pairwise, zip_longest
from pathlib import Path
from typing import Any

from backend.datasets.cells import TableRow, UniqueNames, trim, unique_names
from backend.datasets.columns import (
    CAPTION_NAMES,
    OBJECT_NAMES,
    PICTURE_NAMES,
    usual_name,
)
from backend.datasets.reading.conversations import TURN_COLUMNS
from backend.datasets.reading.json_stream import JsonFile
from backend.datasets.reading.named_pictures import is_picture_name, names_picture
from backend.datasets.safe_files.text_files import TextLine
from backend.errors import DatasetFormatError

_NAMES, _ROWS, _INDEX = "columns", "data", "index"
#: Rows by which a table is recognised.
_SAMPLE = 20
#: Columns that are read at a place of their own each, well below the open files of a process.
_MOST_PLACES = 100


def table_rows(file: JsonFile, name: str) -> Iterator[TableRow] | None:
    """The rows of such a table; None if the file is none. `name`: of the file. Raises
    DatasetFormatError for columns of different lengths."""
    if file.is_array or file.is_lines:
        return None
    if file.arrays.keys() >= {_NAMES, _ROWS} and all(
        isinstance(row, list) for row in islice(file.objects(_ROWS), _SAMPLE)
    ):
        return _split_rows(file, name)
    kinds = file.kinds
    caption = usual_name(kinds, CAPTION_NAMES)
    images = usual_name(kinds, PICTURE_NAMES)
    if caption and images and set(kinds.values()) == {"start_array"}:
        # Objects say by an id which picture is theirs: their order means nothing.
        has_objects = any(isinstance(c, dict) for c in islice(file.objects(caption), _SAMPLE))
        return None if has_objects else _list_rows(_Columns(file, list(kinds), name))
    if caption and len(kinds) > 1 and set(kinds.values()) == {"start_map"}:
        columns = _Columns(file, list(kinds), name)
        keys = [columns.first_keys(column) for column in columns.names]
        if all(of_column == keys[0] for of_column in keys):
            return _object_rows(columns, "" if images else "file_name")
    return None


def is_one_row(file: JsonFile, path: Path) -> bool:
    """Whether the file at `path` is an object that is a row by itself: one line of JSON lines."""
    image = usual_name(file.kinds, PICTURE_NAMES)
    turns = usual_name(file.kinds, TURN_COLUMNS)
    of_objects = {name for name, first in file.arrays.items() if first == "start_map"}
    if not (turns or usual_name(file.kinds, OBJECT_NAMES)) or not of_objects <= {turns}:
        return False
    if turns and "images" in file.kinds:
        return True
    if not image or file.kinds[image] not in ("string", "number"):
        return False
    name = next(str(value) for member, value in file.members() if member == image)
    return names_picture(path, name)


def is_document(lines: Iterable[TextLine]) -> bool:
    """Whether a file that is called like JSON lines is one list or one table of a data frame."""
    texts = (line.text and line.text.strip() for line in lines)
    others = (text for text in texts if text != "")  # None: too long
    first = next(others, "")
    if first is None:
        return next(others, None) is None
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        is_begun = first == "{" or first.startswith("[")
        return is_begun and not _has_row(others)
    second = next(others, "")
    if isinstance(value, list):
        return second is not None and second[:1] in ("", "[")
    return second == "" and _is_table(value)


def _has_row(lines: Iterator[str | None]) -> bool:
    """Whether a line is an object by itself, and not the last one of a list."""
    for line, following in pairwise(chain(lines, [""])):
        is_last = (following or "").startswith(("]", "}", ","))
        if line and line[0] == "{" and line[-1] == "}" and not is_last:
            with suppress(ValueError, RecursionError):
                json.loads(line)
                return True
    return False


def _is_table(value: Any) -> bool:
    if not isinstance(value, dict) or not value:
        return False
    if _ROWS in value and not value.keys().isdisjoint({_NAMES, "schema"}):
        return isinstance(value[_ROWS], list)
    if all(map(is_picture_name, value)):
        return True
    cells = list(value.values())
    if value.keys() >= {"images", "annotations"}:
        return all(isinstance(value[name], list) for name in ("images", "annotations")) and all(
            isinstance(each, dict) for each in (*value["images"][:1], *value["annotations"][:1])
        )
    if all(isinstance(cell, dict) for cell in cells):
        return all(cell.keys() == cells[0].keys() for cell in cells)
    names = usual_name(value, CAPTION_NAMES), usual_name(value, PICTURE_NAMES)
    lengths = {len(cell) if isinstance(cell, list) else 0 for cell in cells}
    return all(names) and len(lengths) == 1 and min(lengths) > 1


class _Columns:
    """Columns that are each a list or an object. Each is read at its own place of the file, but
    many, or those of a file that can be read at one place only, at once: each place is an open
    file and a pass through it. `file_name`: of the file. Raises DatasetFormatError for names that
    are there twice."""

    def __init__(self, file: JsonFile, names: list[str], file_name: str) -> None:
        self.names, self.file_name, self._file = names, file_name, file
        self._content: UniqueNames | None = None
        if len(names) > _MOST_PLACES or not file.is_reopened:
            self._content = unique_names(file.members())
            for cells in (self._content, *self._content.values()):
                if isinstance(cells, UniqueNames) and cells.twice is not None:
                    raise DatasetFormatError(
                        f"'{file_name}' has '{trim(cells.twice, 80)}' twice. Write the table again."
                    )

    def cells(self, column: str) -> Iterator[Any]:
        """Of a column that is a list."""
        return self._file.objects(column) if self._content is None else iter(self._content[column])

    def members(self, column: str) -> Iterator[tuple[str, Any]]:
        """The keys and cells of a column that is an object."""
        if self._content is None:
            return self._file.members(column)
        return iter(self._content[column].items())

    def first_keys(self, column: str) -> list[str]:
        """The first keys of a column that is an object."""
        if self._content is None:
            return [key for key, *_ in islice(self._file.beginnings(column), _SAMPLE)]
        return list(islice(self._content[column], _SAMPLE))


def _split_rows(file: JsonFile, name: str) -> Iterator[TableRow]:
    names = [str(name) for name in file.objects(_NAMES)]
    if twice := [column for column, count in Counter(names).items() if count > 1]:
        raise DatasetFormatError(
            f"'{name}' has several columns named '{trim(twice[0], 80)}'. Rename or remove one."
        )
    # What pandas counts is no column; names of pictures that are its index are.
    index = list(file.objects(_INDEX)) if _INDEX in file.arrays else []
    has_images = usual_name(names, PICTURE_NAMES)
    is_named = not has_images and any(isinstance(label, str) for label in index)
    for number, cells in enumerate(file.objects(_ROWS), 1):
        if not isinstance(cells, list) or len(cells) != len(names):
            yield TableRow(number, None, f"This row has not the {len(names)} cells of 'columns'.")
            continue
        label = {"file_name": index[number - 1]} if is_named and number <= len(index) else {}
        yield TableRow(number, {**label, **dict(zip(names, cells, strict=True))})


def _list_rows(columns: _Columns) -> Iterator[TableRow]:
    lengths = {column: sum(1 for _ in columns.cells(column)) for column in columns.names}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"'{trim(column, 80)}' {count:,}" for column, count in lengths.items())
        raise DatasetFormatError(
            f"'{columns.file_name}' has columns of different lengths ({counts}), so that which "
            "caption belongs to which picture is uncertain. Write the table again."
        )
    cells = [columns.cells(column) for column in columns.names]
    for number, row in enumerate(zip(*cells, strict=True), 1):
        yield TableRow(number, dict(zip(columns.names, row, strict=True)))


def _object_rows(columns: _Columns, index: str) -> Iterator[TableRow]:
    """`index`: the column of the rows' keys, "" to leave them out."""
    cells = [columns.members(column) for column in columns.names]
    for number, row in enumerate(zip_longest(*cells), 1):
        if None in row:
            ended = [name for name, cell in zip(columns.names, row, strict=True) if not cell]
            names = ", ".join(f"'{trim(name, 80)}'" for name in ended)
            yield TableRow(number, None, f"This row has no cell in {names}.")
            continue
        keys = {key for key, _ in row}
        if len(keys) > 1:
            names = ", ".join(f"'{trim(key, 80)}'" for key in sorted(keys))
            problem = f"Here the columns are of different rows ({names}): the rest is left out."
            yield TableRow(number, None, problem)
            return
        values: Mapping[str, Any] = {
            name: cell for name, (_, cell) in zip(columns.names, row, strict=True)
        }
        yield TableRow(number, {**({index: keys.pop()} if index else {}), **values})
