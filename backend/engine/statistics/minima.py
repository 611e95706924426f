"""Minima of convex functions, by NumPy alone: the light installation has no SciPy."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
_STEPS, _CLOSE = 100, 1e-10
_GOLDEN = (5**0.5 - 1) / 2


def least(
    function: Callable[[FloatArray], float],
    slope_and_curvature: Callable[[FloatArray], tuple[FloatArray, FloatArray]],
    start: FloatArray,
) -> FloatArray:
    """Where a strictly convex function is least, shape [n], by Newton's steps, halved while they
    lead up. `slope_and_curvature`: its gradient [n] and positive definite Hessian [n, n].

    >>> least(lambda x: (x @ x - 2 * x[0]), lambda x: (2 * x - [2, 0], 2 * np.eye(2)), np.ones(2))
    array([1., 0.])
    """
    point, value = start, function(start)
    for _ in range(_STEPS):
        slope, curvature = slope_and_curvature(point)
        step = np.linalg.solve(curvature, -slope)
        size = 1.0
        while (lower := function(point + size * step)) > value and size > _CLOSE:
            size /= 2
        if lower > value:
            break
        point, value = point + size * step, lower
        if float(np.abs(step).max(initial=0.0)) < _CLOSE:
            break
    return point


def least_within(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a convex function is least between these ends, by golden sections.

    >>> round(least_within(lambda x: (x - 0.3) ** 2, 0.0, 1.0), 6)
    0.3
    """
    first, second = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    values = function(first), function(second)
    while high - low > 1e-9:
        if values[0] <= values[1]:
            high, second = second, first
            first = high - _GOLDEN * (high - low)
            values = function(first), values[0]
        else:
            low, first = first, second
            second = low + _GOLDEN * (high - low)
            values = values[1], function(second)
    return (low + high) / 2
