"""Nearest-neighbour search over a dataset's vectors, in memory, with one byte per dimension."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.jobs.vectors import VectorFile

#: Up to this many vectors are compared exactly, without training a quantiser.
_EXACT_UP_TO = 20_000


class Nearest:
    """Nearest-neighbour lookup; reloads the file when it has grown."""

    def __init__(self, path: Path, width: int) -> None:
        self._file = VectorFile(path, width)
        self._stamp = -1
        self._pairs = np.zeros(0, np.int64)
        self._index: Any = None

    def __len__(self) -> int:
        self._refresh()
        return len(self._pairs)

    def of(self, vector: ArrayLike, count: int) -> list[tuple[int, float]]:
        """(pair, cosine), nearest first. `vector`: a unit vector [width]."""
        self._refresh()
        if not len(self._pairs):
            return []
        wanted = np.asarray(vector, np.float32).reshape(1, -1)
        cosines, rows = self._index.search(wanted, min(count, len(self._pairs)))
        return [
            (int(self._pairs[row]), float(cosine))
            for row, cosine in zip(rows[0], cosines[0], strict=True)
            if row >= 0
        ]

    def vector(self, pair: int) -> NDArray[np.float32] | None:
        """The pair's own vector, None if it has none yet."""
        self._refresh()
        row = int(np.searchsorted(self._pairs, pair))
        if row >= len(self._pairs) or self._pairs[row] != pair:
            return None
        vector: NDArray[np.float32] = self._index.reconstruct(row)
        return vector

    def _refresh(self) -> None:
        stamp = self._file.stamp()
        if stamp == self._stamp:
            return
        import faiss

        pairs, vectors = self._file.read()
        width = self._file.width
        if len(pairs) <= _EXACT_UP_TO:
            index: Any = faiss.IndexFlatIP(width)
        else:
            index = faiss.IndexScalarQuantizer(
                width, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
            )
            step = len(pairs) // _EXACT_UP_TO
            index.train(np.ascontiguousarray(vectors[::step], np.float32))
        for first in range(0, len(pairs), _EXACT_UP_TO):
            index.add(np.ascontiguousarray(vectors[first : first + _EXACT_UP_TO], np.float32))
        self._pairs, self._index, self._stamp = pairs, index, stamp
