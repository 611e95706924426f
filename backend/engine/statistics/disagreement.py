"""How far scorers differ about a pair: one rates it a good match and another a bad one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def rank_disagreement(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The largest difference between a pair's ranks, as a fraction of the dataset, in [0, 1].

    `scores`: one array per scorer, each of shape [pairs] in the same order. Ranks are used because
    a cosine and a probability are not comparable; ties get their mean rank. Raises ValueError for
    fewer than two scorers.
    """
    from scipy.stats import rankdata

    if len(scores) < 2:
        raise ValueError("one scorer alone agrees with itself")
    shares = np.stack([(rankdata(run_scores) - 0.5) / len(run_scores) for run_scores in scores])
    ranges: NDArray[np.float64] = np.ptp(shares, axis=0)
    return ranges
