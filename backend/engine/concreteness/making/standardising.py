"""The same distribution of scores for captions of every length (ICC, appendix A.1).

Short captions come back more easily than long ones, whatever they say. The logits of the scores are
standardised among captions of the same number of words, and turned back so that every length has
the same logit-normal distribution, LN(0.5, 1).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MEAN, DEVIATION = 0.5, 1.0
#: Lengths with fewer captions are judged together with their neighbours.
FEWEST = 20
_EDGE = 1e-3


def standardised(scores: Sequence[float], lengths: Sequence[int]) -> NDArray[np.float64]:
    """Scores in (0, 1), shape [captions]; `lengths` in words."""
    clipped = np.clip(np.asarray(scores, np.float64), _EDGE, 1 - _EDGE)
    logits = np.log(clipped / (1 - clipped))
    z_scores = np.empty_like(logits)
    for rows in _groups(lengths):
        values = logits[rows]
        spread = values.std()
        z_scores[rows] = (values - values.mean()) / (spread if spread > 1e-9 else 1.0)
    standard: NDArray[np.float64] = 1 / (1 + np.exp(-(MEAN + DEVIATION * z_scores)))
    return standard


def _groups(lengths: Sequence[int]) -> list[NDArray[np.intp]]:
    """Rows by length; neighbouring lengths together until there are FEWEST of them."""
    values = np.asarray(lengths)
    groups: list[NDArray[np.intp]] = []
    waiting: list[NDArray[np.intp]] = []
    for length in sorted(set(values.tolist())):
        waiting.append(np.flatnonzero(values == length))
        if sum(map(len, waiting)) >= FEWEST:
            groups.append(np.concatenate(waiting))
            waiting = []
    if waiting:  # the longest few join those before them
        last = groups.pop() if groups else np.empty(0, np.intp)
        groups.append(np.concatenate([last, *waiting]))
    return groups
