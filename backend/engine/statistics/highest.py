"""The pairs with the highest values: exactly so many, ties to the earlier, those without last."""

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Values = NDArray[np.float64]


def highest(values: Values, among: Mask, count: int) -> Mask:
    """The `count` pairs of `among` with the highest values, shape [pairs].

    >>> highest(np.array([1.0, 3, 3, 3, np.nan]), np.array([True] * 5), 2).tolist()
    [False, True, True, False, False]
    """
    places = np.flatnonzero(among)
    count = min(count, len(places))
    selection = np.zeros(len(values), np.bool_)
    if not count:
        return selection
    comparable = np.where(np.isnan(values[places]), -np.inf, values[places])
    line = np.partition(comparable, len(comparable) - count)[len(comparable) - count]
    above = comparable > line
    ties = np.flatnonzero(comparable == line)[: count - int(above.sum())]
    selection[places[above]] = True
    selection[places[ties]] = True
    return selection


def highest_share(values: Values, among: Mask, share: float) -> Mask:
    """The same for a share of `among`, shape [pairs]."""
    return highest(values, among, whole_share(share, int(among.sum())))


def whole_share(share: float, total: int) -> int:
    """⌊share · total⌋, corrected for binary rounding: 0.7 of 10 is 7."""
    return int(np.floor(round(share * total, 6)))
