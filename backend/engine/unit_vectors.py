"""Vectors of length 1, whose products are cosines."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Pictures whose vectors have this cosine are hardly told apart.
NEAR_DUPLICATE = 0.98


def unit(vectors: ArrayLike) -> NDArray[np.float32]:
    """Rows scaled to length 1, float32 [n, d]; rows of zeros are unchanged."""
    rows = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows.copy(), where=lengths > 0)
