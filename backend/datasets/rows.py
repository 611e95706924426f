"""A row of a table, independent of the file format."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from backend.errors import DatasetFormatError


@dataclass(frozen=True)
class TableRow:
    """`values` by column; None with a `problem` if the row itself cannot be read.

    `number` is None if the problem concerns many rows or the whole file.
    """

    number: int | None
    values: dict[str, Any] | None
    problem: str = ""


class UniqueNames(dict[str, Any]):
    """An object of JSON; `twice`: a name that it has twice, so that one value would be lost."""

    twice: str | None = None

    def __setitem__(self, name: str, value: Any) -> None:
        if name in self:
            self.twice = name
        super().__setitem__(name, value)

    def row(self, number: int) -> TableRow:
        """The object as a row, or the problem with it."""
        if self.twice is None:
            return TableRow(number, self)
        return TableRow(number, None, f"This object has the field '{self.twice[:80]}' twice.")


def unique_names(pairs: Iterable[tuple[str, Any]]) -> UniqueNames:
    """The `object_pairs_hook` of `json`."""
    values = UniqueNames()
    for name, value in pairs:
        values[name] = value
    return values


def json_object(text: str) -> dict[str, Any]:
    """The object in a text. Raises ValueError if there is none, or if it has a name twice."""
    values = json.loads(text, object_pairs_hook=unique_names)
    if not isinstance(values, UniqueNames):
        raise ValueError("it holds no object")
    if values.twice is not None:
        raise ValueError(f"it has the field '{values.twice[:80]}' twice")
    return values


def check_names(names: Sequence[str], file: str) -> None:
    """Raise DatasetFormatError if two columns have the same name: one of them would be lost."""
    for name in names:
        if name and names.count(name) > 1:
            places = [str(place) for place, other in enumerate(names, 1) if other == name]
            raise DatasetFormatError(
                f"'{file}' has {len(places)} columns named '{name[:80]}' (columns "
                f"{', '.join(places)}). Give each a name of its own."
            )
