"""Vectors by pair, appended to one file as they are computed.

Fixed-size records (pair id, unit vector as float16), so that a killed process loses at most the
record being written: the next writer truncates a partial record. If a pair is written twice, its
newest vector counts.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray


class VectorFile:
    """The vectors of one dataset and one model. One writer at a time, any number of readers."""

    def __init__(self, path: Path, width: int) -> None:
        self.path = path
        self.width = width
        self._record = np.dtype([("pair", "<i8"), ("vector", "<f2", (width,))])

    def append(self, pairs: Sequence[int], vectors: ArrayLike) -> None:
        """`vectors`: unit vectors, shape [pairs, width]."""
        records = np.zeros(len(pairs), self._record)
        records["pair"] = pairs
        records["vector"] = vectors
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as file:
            whole = file.tell() - file.tell() % self._record.itemsize
            if whole != file.tell():
                os.truncate(self.path, whole)
            file.write(records.tobytes())

    def read(self) -> tuple[NDArray[np.int64], NDArray[np.float16]]:
        """Pairs, ascending, and their vectors [pairs, width]; empty if there are none."""
        try:
            size = self.path.stat().st_size // self._record.itemsize
        except FileNotFoundError:
            size = 0
        if not size:
            return np.zeros(0, np.int64), np.zeros((0, self.width), np.float16)
        records = np.memmap(self.path, self._record, "r", shape=(size,))
        newest_first = np.asarray(records["pair"])[::-1]
        pairs, places = np.unique(newest_first, return_index=True)
        return pairs, records["vector"][size - 1 - places]

    def open(self) -> "StoredVectors":
        """Like `read`, but loaded on demand: memory use is independent of the file size."""
        try:
            size = self.path.stat().st_size // self._record.itemsize
        except FileNotFoundError:
            size = 0
        if not size:
            none = np.zeros(0, np.int64)
            return StoredVectors(none, none, np.zeros((0, self.width), np.float16))
        records = np.memmap(self.path, self._record, "r", shape=(size,))
        pairs, places = np.unique(np.asarray(records["pair"])[::-1], return_index=True)
        return StoredVectors(pairs, size - 1 - places, records["vector"])

    def stamp(self) -> int:
        """Changes whenever something is appended."""
        return self.path.stat().st_size if self.path.exists() else 0


@dataclass(frozen=True)
class StoredVectors:
    """Snapshot of a vector file at opening time. `pairs`: those with a vector, ascending."""

    pairs: NDArray[np.int64]
    _places: NDArray[np.int64]
    _vectors: NDArray[np.float16]

    def has(self, pairs: ArrayLike) -> NDArray[np.bool_]:
        """Which of the pairs have a vector, shape [pairs]."""
        return np.isin(np.asarray(pairs, np.int64), self.pairs)

    def of(self, pairs: ArrayLike) -> NDArray[np.float32]:
        """Stored vectors [pairs, width] of pairs that have one."""
        rows = np.searchsorted(self.pairs, np.asarray(pairs, np.int64))
        return self._vectors[self._places[rows]].astype(np.float32)
