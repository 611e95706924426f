"""Orders in which the captions of a whole file are often written, other than that of its
pictures."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

#: From the last row to the first; sorted by the pictures' names or numbers as text (1, 10, 11, 2),
#: or as numbers (1, 2, 10, 11).
Order = Literal["reversed", "alphabetical", "numerical"]
_DIGITS = re.compile(r"\d+")


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
    for order, targets in _sorted_orders(names):
        if not np.array_equal(targets, rows):
            yield order, targets


def _sorted_orders(names: Sequence[str]) -> Iterator[tuple[Order, NDArray[np.int64]]]:
    yield "alphabetical", _sorted_rows(names)
    yield "numerical", _sorted_rows([_numerical(name) for name in names])
    for first in (0, 1):
        as_text = _sorted_rows([str(row + first) for row in range(len(names))])
        yield "alphabetical", as_text
        yield "numerical", np.argsort(as_text)


def _sorted_rows(keys: Sequence[str]) -> NDArray[np.int64]:
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _numerical(name: str) -> str:
    """The name for a comparison in which numbers count as such, of any length: each has its number
    of digits before it.

    >>> _numerical("a10.png") > _numerical("a09.png")
    True
    """
    return _DIGITS.sub(_with_length, name)


def _with_length(number: re.Match[str]) -> str:
    digits = number[0].lstrip("0")
    return f"{len(digits):06}{digits}"
