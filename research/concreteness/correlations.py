"""Agreement of scores with human ratings: the three correlations of ICC's Table 3."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau, pearsonr, spearmanr


@dataclass(frozen=True)
class Agreement:
    """Each in [-1, 1]; 0.0 if all scores are equal and the correlation is undefined."""

    pearson: float
    spearman: float
    kendall: float
    count: int


def agreement(scores: Sequence[float], ratings: Sequence[float]) -> Agreement:
    """`ratings`: human ratings on any scale, higher is more concrete."""
    if len(set(scores)) < 2 or len(set(ratings)) < 2:
        return Agreement(0.0, 0.0, 0.0, len(scores))
    values = np.asarray(scores, np.float64), np.asarray(ratings, np.float64)
    return Agreement(
        float(pearsonr(*values)[0]),
        float(spearmanr(*values)[0]),
        float(kendalltau(*values)[0]),
        len(scores),
    )
