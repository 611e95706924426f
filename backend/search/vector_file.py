"""Vectors by pair, appended to one file as they are made.

Fixed-size records (pair id, unit vector as float16), so that a killed program costs at most the
record that it was writing: half a record at the end is cut off by the next writer. A pair that is
written twice counts with its newest vector.
"""

import os
from collections.abc import Sequence
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

    def stamp(self) -> int:
        """Changes whenever something is appended."""
        return self.path.stat().st_size if self.path.exists() else 0
