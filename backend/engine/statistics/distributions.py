"""Distributions and ranks, by NumPy alone: pages need no SciPy, which takes a second to import and
is not in the light installation. Tests compare each with SciPy's."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
#: Two-sided 95 %, in standard deviations.
_Z_95 = 1.959963984540054


def mean_ranks(values: ArrayLike) -> FloatArray:
    """The rank of each value from 1, ties with their mean rank; shape [values].

    >>> mean_ranks([30, 10, 30, 20]).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, places, counts = np.unique(np.ravel(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: FloatArray = (ends - (counts - 1) / 2)[places]
    return ranks


def wilson_interval(hits: int, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson 1927). `count`: at least 1.

    >>> [round(end, 2) for end in wilson_interval(8, 10)]
    [0.49, 0.94]
    """
    share, spread = hits / count, _Z_95**2 / count
    centre = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return (centre - half if hits else 0.0), (centre + half if hits < count else 1.0)


def beta_quantile(share: float, a: float, b: float) -> float:
    """The value below which this share of a beta distribution lies; 0 < share < 1, a, b > 0.

    >>> round(beta_quantile(0.025, 14, 10), 3)
    0.385
    """
    low, high = 0.0, 1.0
    while high - low > 1e-15:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _beta_share(middle, a, b) < share else (low, middle)
    return (low + high) / 2


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction where that converges."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    if x <= 0:
        return 0.0
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return math.exp(front + a * math.log(x) + b * math.log1p(-x)) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """1 / (1 + d₁ / (1 + d₂ / …)) of DLMF 8.17.22, by Lentz's method."""
    numerator, denominator = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = denominator
    for m in range(1, 10_000):
        terms = (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        )
        change = 1.0
        for term in terms:
            denominator = 1 / (1 + term * denominator)
            numerator = 1 + term / numerator
            change *= numerator * denominator
        value *= change
        if abs(change - 1) < 1e-15:
            break
    return value
