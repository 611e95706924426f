"""A pair's support: the mean of its phrases' attributions after normalisation over a pool.

Kinds differ by an order of magnitude, and nouns would dominate the mean. A pair without a testable
phrase has no support, which is not 0.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.engine.english.phrases import KINDS

_SMALLEST = 1e-6


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of the attributions of each kind, in the order of KINDS."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]

    def normalise(self, kinds: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """PAS~ of phrases of one or many pairs; `kinds` are indices into KINDS."""
        kind_numbers = np.asarray(kinds, np.intp)
        deviations = np.maximum(np.array(self.deviations), _SMALLEST)
        z_scores: NDArray[np.float64] = (
            np.asarray(values, np.float64) - np.array(self.means)[kind_numbers]
        ) / deviations[kind_numbers]
        return z_scores

    def support(self, kinds: ArrayLike, values: ArrayLike) -> tuple[float | None, float | None]:
        """(support, weakest) of one pair; None, None without a phrase."""
        z_scores = self.normalise(kinds, values)
        if not z_scores.size:
            return None, None
        return float(z_scores.mean()), float(z_scores.min())


class PoolMoments:
    """Running sums over the phrases of a pool, in constant memory."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(KINDS))
        self._sums = np.zeros(len(KINDS))
        self._squares = np.zeros(len(KINDS))

    def add(self, kinds: ArrayLike, values: ArrayLike) -> None:
        kind_numbers, numbers = np.asarray(kinds, np.intp), np.asarray(values, np.float64)
        self._counts += np.bincount(kind_numbers, minlength=len(KINDS))
        self._sums += np.bincount(kind_numbers, numbers, minlength=len(KINDS))
        self._squares += np.bincount(kind_numbers, numbers * numbers, minlength=len(KINDS))

    def normalisation(self) -> Normalisation:
        counts = np.maximum(self._counts, 1)
        means = self._sums / counts
        variances = np.maximum(self._squares / counts - means * means, 0)
        return Normalisation(tuple(means.tolist()), tuple(np.sqrt(variances).tolist()))
