"""A row of a table, independent of the file format."""

from collections.abc import Sequence
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


def check_names(names: Sequence[str], file: str) -> None:
    """Raise DatasetFormatError if two columns have the same name: one of them would be lost."""
    for name in names:
        if name and names.count(name) > 1:
            places = [str(place) for place, other in enumerate(names, 1) if other == name]
            raise DatasetFormatError(
                f"'{file}' has {len(places)} columns named '{name[:80]}' (columns "
                f"{', '.join(places)}). Give each a name of its own."
            )
