"""The rows of a dataset in the order of their source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from backend.features.rows.alignment import FEWEST_ROWS

Indices = NDArray[np.int64]
#: Instead of a row where there is none.
NONE = -1


@dataclass(frozen=True)
class RowSequence:
    """Rows of one file, or of all files that are too short to be looked at alone (`file` is "").

    `pairs`: their ids; `numbers`: the rows as the source numbers them, ascending; -1 where it does
    not. Both have the shape [rows]."""

    file: str
    pairs: Indices
    numbers: Indices

    def number(self, position: int) -> int:
        """What the source calls this row; if it does not number them, which one it is, from 1."""
        return int(self.numbers[position]) if self._is_numbered else position + 1

    def shift(self, positions: Indices, targets: Indices, of: Indices) -> tuple[int, Indices]:
        """By how many rows most of the rows at `targets` lie further than those at `positions`, and
        the rows as far from `of`; `NONE` where there is none.

        The numbers of the source count rows that were not imported as well. Where they are the
        lines of a table whose captions have several, more rows agree by their places."""
        places = np.arange(len(self.pairs))
        countings = (self.numbers, places) if self._is_numbered else (places,)
        offset, count, counting = 0, 0, places
        for each in countings:
            offsets, counts = np.unique(each[targets] - each[positions], return_counts=True)
            if counts.max() > count:
                offset, count, counting = int(offsets[counts.argmax()]), counts.max(), each
        wanted = counting[of] + offset
        found = np.minimum(np.searchsorted(counting, wanted), len(counting) - 1)
        return offset, np.where(counting[found] == wanted, found, NONE)

    @cached_property
    def _is_numbered(self) -> bool:
        """Whether each row has a number of its own, and few are missing."""
        numbers = self.numbers
        is_ascending = bool((np.diff(numbers) > 0).all()) and numbers[0] >= 0
        return bool(self.file) and is_ascending and numbers[-1] - numbers[0] < 1.5 * len(numbers)


def sequences_of(rows: Iterable[tuple[int, str, int | None]]) -> Iterator[RowSequence]:
    """Rows, as (id, file, row) in import order, by file, each in its own order; short files
    together, in import order. Takes 24 bytes a row."""
    code_of: dict[str, int] = {}
    numbered = (
        (pair, code_of.setdefault(file, len(code_of)), NONE if row is None else row)
        for pair, file, row in rows
    )
    pairs, codes, numbers = np.fromiter(numbered, np.dtype((np.int64, 3))).T
    counts = np.bincount(codes, minlength=len(code_of))
    for file, code in code_of.items():
        if counts[code] >= FEWEST_ROWS:
            places = np.flatnonzero(codes == code)
            places = places[np.lexsort((pairs[places], numbers[places]))]
            yield RowSequence(file, pairs[places], numbers[places])
    rest = np.flatnonzero(counts[codes] < FEWEST_ROWS)
    if len(rest):
        yield RowSequence("", pairs[rest], np.full(len(rest), NONE))
