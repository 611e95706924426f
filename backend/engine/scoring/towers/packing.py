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
    def of(cls, sequences: Sequence[Sequence[int]]) -> "Packing":
        lengths = np.array([len(sequence) for sequence in sequences], np.int64)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        ids = np.fromiter((t for s in sequences for t in s), np.int64, int(offsets[-1]))
        positions = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths)
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


#: More than any model's context: encodes a token and its position as one number.
_POSITIONS = 4096


class ProjectionTable:
    """Cache of rows that depend on (token, position) only.

    Before the first attention, a token's embedding and projections do not depend on the rest of its
    sequence.
    """

    def __init__(self, most: int = 32_768) -> None:
        self._place: dict[int, int] = {}
        self._rows: torch.Tensor | None = None
        self._most = most

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
        keys, inverse = np.unique(ids * _POSITIONS + positions, return_inverse=True)
        if len(self._place) + len(keys) > self._most:
            self._place, self._rows = {}, None
        new = [key for key in keys.tolist() if key not in self._place]
        if new:
            rows = compute(*torch.tensor([divmod(key, _POSITIONS) for key in new]).unbind(1))
            self._rows = rows if self._rows is None else torch.cat([self._rows, rows])
            for key in new:
                self._place[key] = len(self._place)
            work.projections += len(new)
        assert self._rows is not None
        places = torch.tensor([self._place[key] for key in keys.tolist()])
        return self._rows[places[torch.from_numpy(inverse.reshape(-1))].to(self._rows.device)]
