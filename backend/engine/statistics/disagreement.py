"""How far scorers differ about a pair: where one finds a good match and the other a bad one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rank_disagreement(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The largest difference between a pair's ranks, as shares of the dataset, in [0, 1].

    `scores`: one array a scorer, each of shape [pairs] in the same order. Ranks, because a cosine
    and a probability cannot be compared; equal scores share their mean rank.
    """
    from scipy.stats import rankdata

    if len(scores) < 2:
        raise ValueError("one scorer alone agrees with itself")
    shares = np.stack([(rankdata(run_scores) - 0.5) / len(run_scores) for run_scores in scores])
    ranges: NDArray[np.float64] = np.ptp(shares, axis=0)
    return ranges
