"""The chances of what is seen if there is no pattern, by NumPy alone: the page works in the light
installation, which has no SciPy. Tests compare each with SciPy's."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def binomial_tail(hits: int, count: int, share: float) -> float:
    """The chance of at least so many hits of `count`, each with this chance.

    >>> round(binomial_tail(3, 3, 0.5), 3)
    0.125
    """
    if hits <= 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    logs = [
        _log_choices(count, k) + k * math.log(share) + (count - k) * math.log1p(-share)
        for k in range(hits, count + 1)
    ]
    return min(1.0, math.fsum(map(math.exp, logs)))


def hypergeometric_tail(hits: int, drawn: int, marked: int, total: int) -> float:
    """The chance of at least so many marked ones among those drawn without replacement.

    >>> round(hypergeometric_tail(5, 5, 5, 10), 4)
    0.004
    """
    everything = _log_choices(total, drawn)
    logs = [
        _log_choices(marked, k) + _log_choices(total - marked, drawn - k) - everything
        for k in range(max(hits, drawn + marked - total), min(drawn, marked) + 1)
    ]
    return min(1.0, math.fsum(map(math.exp, logs)))


def _log_choices(count: int, chosen: int) -> float:
    return math.lgamma(count + 1) - math.lgamma(chosen + 1) - math.lgamma(count - chosen + 1)


def false_discovery_rates(p_values: Sequence[float]) -> NDArray[np.float64]:
    """The rate at which each test would be the last to count (Benjamini, Hochberg 1995), [tests].

    >>> false_discovery_rates([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    rates = np.empty_like(scaled)
    rates[order] = np.minimum.accumulate(scaled[::-1])[::-1].clip(max=1.0)
    return rates
