"""Token sequences concatenated without padding.

Most of a text tower operates on single tokens, regardless of sequence boundaries; only attention
depends on them. Sequences of any length are therefore processed as one long row, and attention
handles them in *runs* of equal length.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from backend.engine.scoring.protocol import Work

IntArray = NDArray[np.int64]
#: Rows that a `ProjectionTable` caches.
_MOST_ROWS = 32_768


@dataclass(frozen=True)
class Run:
    """Sequences first … last - 1, all of length `length`, in tokens start … stop - 1."""

    first: int
    last: int
    start: int
    stop: int
    length: int


@dataclass(frozen=True)
class Packing:
    """`ids` and `positions`, shape [tokens]; sequence i begins at `offsets[i]`."""

    ids: IntArray
    positions: IntArray
    offsets: IntArray

    @classmethod
    def of(cls, texts: Sequence[Sequence[int]], around: tuple[int, int]) -> "Packing":
        """Texts with the special tokens before and after each.

        >>> Packing.of([(7, 8), ()], (1, 2)).ids.tolist()
        [1, 7, 8, 2, 1, 2]
        """
        lengths = np.array([len(text) for text in texts], np.int64) + 2
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        ids = np.empty(len(positions), np.int64)
        ids[offsets[:-1]], ids[offsets[1:] - 1] = around
        is_own = np.ones(len(ids), np.bool_)
        is_own[offsets[:-1]] = is_own[offsets[1:] - 1] = False
        ids[is_own] = np.fromiter(
            itertools.chain.from_iterable(texts), np.int64, len(ids) - 2 * len(texts)
        )
        return cls(ids, positions, offsets)

    @property
    def lengths(self) -> IntArray:
        return np.diff(self.offsets)

    @property
    def first_tokens(self) -> torch.Tensor:
        """Index of each sequence's first token, shape [sequences]."""
        return torch.from_numpy(self.offsets[:-1].copy())

    def runs(self, keys: Sequence[int] | IntArray) -> list[Run]:
        """Consecutive sequences of equal key and equal length."""
        return self._runs(np.asarray(keys, np.int64), self.lengths)

    def stretches(self, keys: Sequence[int] | IntArray) -> list[Run]:
        """Consecutive sequences of equal key and any length; `Run.length` is 0."""
        return self._runs(np.asarray(keys, np.int64), np.zeros(len(self.lengths), np.int64))

    def _runs(self, keys: IntArray, lengths: IntArray) -> list[Run]:
        if not len(keys):
            return []
        new = np.flatnonzero((np.diff(keys) != 0) | (np.diff(lengths) != 0)) + 1
        edges = [0, *new.tolist(), len(keys)]
        return [
            Run(a, b, int(self.offsets[a]), int(self.offsets[b]), int(lengths[a]))
            for a, b in itertools.pairwise(edges)
        ]


def on_device(arrays: Sequence[IntArray], device: torch.device) -> list[torch.Tensor]:
    """The arrays as tensors on the device, in one transfer."""
    buffer = torch.from_numpy(np.concatenate([array.reshape(-1) for array in arrays])).to(device)
    parts = buffer.split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]


class ProjectionTable:
    """Cache of rows that depend on (token, position) only.

    Before the first attention, a token's embedding and projections do not depend on the rest of its
    sequence.
    """

    def __init__(self, vocabulary: int, positions: int) -> None:
        self._shape = (vocabulary, positions)
        self._clear()

    def _clear(self) -> None:
        #: Row of each token at each position, counted from 1; 0 if it is not cached. Memory that
        #: stays zero is not allocated.
        self._row_of = np.zeros(self._shape, np.int32)
        self._rows: torch.Tensor | None = None
        self._used = 0

    def rows(
        self,
        ids: IntArray,
        positions: IntArray,
        compute: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        work: Work,
    ) -> torch.Tensor:
        """One row per token, shape [tokens, width].

        `compute` returns the rows of distinct (ids, positions) that are not cached. A full cache is
        cleared.
        """
        rows = self._row_of[ids, positions]
        if self._used + len(ids) > _MOST_ROWS:
            distinct = len(np.unique(ids * self._shape[1] + positions))
            if self._used + distinct > _MOST_ROWS:
                self._clear()
                rows = np.zeros_like(rows)
        missing = rows == 0
        if missing.any():
            self._add(ids[missing], positions[missing], compute, work)
            rows = self._row_of[ids, positions]
        assert self._rows is not None
        return self._rows[torch.from_numpy(rows - np.int64(1)).to(self._rows.device)]

    def _add(
        self,
        ids: IntArray,
        positions: IntArray,
        compute: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        work: Work,
    ) -> None:
        new = np.divmod(np.unique(ids * self._shape[1] + positions), self._shape[1])
        rows = compute(*(torch.from_numpy(array) for array in new))
        start, end = self._used, self._used + len(rows)
        if self._rows is None or end > len(self._rows):
            longer = rows.new_empty(2 * end, rows.shape[1])
            if self._rows is not None:
                longer[:start] = self._rows[:start]
            self._rows = longer
        self._rows[start:end] = rows
        self._row_of[new] = np.arange(start + 1, end + 1)
        self._used = end
        work.projections += len(rows)
