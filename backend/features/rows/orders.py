"""Orders in which the captions of a whole file are often written, other than that of its
pictures."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

#: From the last row to the first; sorted by the pictures' names or numbers as text (1, 10, 11, 2),
#: or as numbers (1, 2, 10, 11).
Order = Literal["reversed", "alphabetical", "numerical"]
_DIGITS = re.compile(r"(\d+)")


def orders_of(names: Sequence[str]) -> Iterator[tuple[Order, NDArray[np.int64]]]:
    """Each order that captions may stand in beside pictures with these names, but that of the rows:
    for each row [rows], the row whose picture its caption belongs to.

    Names that say nothing, such as those of pictures that were numbered anew, leave the numbers of
    the rows, from 0 or from 1: either captions or pictures may be sorted as text.

    >>> [(order, rows.tolist()) for order, rows in orders_of(["a9", "a10"])]
    [('reversed', [1, 0]), ('alphabetical', [1, 0])]
    """
    rows = np.arange(len(names))
    yield "reversed", rows[::-1]
    candidates: list[tuple[Order, NDArray[np.int64]]] = [
        ("alphabetical", _sorted_rows(names)),
        ("numerical", _sorted_rows([_parts(name) for name in names])),
    ]
    for first in (0, 1):
        as_text = _sorted_rows([str(row + first) for row in range(len(names))])
        candidates.append(("alphabetical", as_text))
        candidates.append(("numerical", np.argsort(as_text)))
    for order, targets in candidates:
        if not np.array_equal(targets, rows):
            yield order, targets


def _sorted_rows(keys: Sequence[Any]) -> NDArray[np.int64]:
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _parts(name: str) -> list[tuple[int, str]]:
    """The name for a comparison in which numbers count as such.

    >>> _parts("a10.png") > _parts("a9.png")
    True
    """
    parts = _DIGITS.split(name)
    return [(int(part), "") if place % 2 else (0, part) for place, part in enumerate(parts)]
