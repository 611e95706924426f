"""LEMoN's parameters, and the index of the dataset's pairs in which it searches neighbours."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from backend.engine.scoring.protocol import FloatArray

#: An array or a tensor of cosines.
Cosines = TypeVar("Cosines", NDArray[np.float64], torch.Tensor)
#: Version of the formula. Part of the run, so that scores of different versions are not mixed:
#: 1 weighted neighbours by 1 - cos instead of -cos, and took all pairs as neighbours.
FORMULA = 2


@dataclass(frozen=True)
class LemonParameters:
    """k, six hyperparameters and the distance between unit vectors. The defaults are LEMoN_FIX;
    LEMoN_OPT fits all of them to labels.

    `euclidean`: squared Euclidean distance, 2 - 2 cos, instead of the cosine distance, 1 - cos.
    """

    neighbours: int = 30
    beta: float = 5.0
    gamma: float = 5.0
    tau_1n: float = 0.1
    tau_2n: float = 5.0
    tau_1m: float = 0.1
    tau_2m: float = 5.0
    euclidean: bool = False

    def distance(self, cosines: Cosines) -> Cosines:
        """Distance of unit vectors with these cosines."""
        apart: Cosines = 1 - cosines
        return 2 * apart if self.euclidean else apart

    def gap(self, cosines: Cosines) -> Cosines:
        """Distance of a neighbour in the exponent of its weight. For the cosine distance the
        authors' code uses -cos, which multiplies the weights of 1 - cos by exp(tau_1)."""
        return self.distance(cosines) if self.euclidean else -cosines

    def as_dict(self) -> dict[str, float]:
        return {**asdict(self), "euclidean": float(self.euclidean), "formula": FORMULA}


#: LEMoN_FIX.
FIX = LemonParameters()


class NeighbourBank:
    """The pairs that serve as neighbours, as unit vectors, with exact search (faiss, inner
    product): those of the dataset's training part, or all pairs if it has none.

    `images` and `captions`: shape [pairs, d]; `keys`: external ids of the pairs, ascending. Raises
    ValueError if the keys are not.
    """

    def __init__(self, keys: Sequence[int], images: FloatArray, captions: FloatArray) -> None:
        import faiss

        self.keys = np.asarray(keys, np.int64)
        if np.any(np.diff(self.keys) <= 0):
            raise ValueError("keys must be ascending and unique")
        self.images = np.ascontiguousarray(images, np.float32)
        self.captions = np.ascontiguousarray(captions, np.float32)
        #: Cosine of image and caption of every pair, shape [pairs].
        self.matches = (self.images.astype(np.float64) * self.captions).sum(1)
        self._by_image = faiss.IndexFlatIP(images.shape[1])
        self._by_caption = faiss.IndexFlatIP(captions.shape[1])
        self._by_image.add(self.images)
        self._by_caption.add(self.captions)

    def __len__(self) -> int:
        return len(self.keys)

    def row_of(self, key: int) -> int:
        """The row of pair `key`, -1 if it is not in the bank."""
        row = int(np.searchsorted(self.keys, key))
        return row if row < len(self.keys) and self.keys[row] == key else -1

    def near_images(
        self, vectors: FloatArray, count: int, own_rows: Sequence[int]
    ) -> NDArray[np.int64]:
        """Rows of the nearest images, nearest first, excluding row own_rows[i]; [n, ≤ count]."""
        return self._near(self._by_image, vectors, count, own_rows)

    def near_captions(
        self, vectors: FloatArray, count: int, own_rows: Sequence[int]
    ) -> NDArray[np.int64]:
        return self._near(self._by_caption, vectors, count, own_rows)

    def _near(
        self, index: Any, vectors: FloatArray, count: int, own_rows: Sequence[int]
    ) -> NDArray[np.int64]:
        most = min(count, len(self) - 1)
        _, neighbours = index.search(np.ascontiguousarray(vectors, np.float32), most + 1)
        itself = np.asarray(own_rows, np.int64)[:, None]
        # Move the pair itself to the end of its row, then drop the last column.
        order = np.argsort(neighbours == itself, axis=1, kind="stable")
        rows: NDArray[np.int64] = np.take_along_axis(neighbours, order, 1)[:, :most]
        return rows
