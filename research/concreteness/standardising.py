"""Give captions of every length the same distribution of scores (ICC, appendix A.1).

Short captions are easier to reconstruct than long ones, whatever they say. The logits of the scores
are standardised among captions with the same number of words and mapped back, so that every length
has the same logit-normal distribution, LN(0.5, 1).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MEAN, DEVIATION = 0.5, 1.0
#: Lengths with fewer captions are grouped with neighbouring lengths.
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
    """Rows grouped by length; neighbouring lengths are merged until a group has FEWEST rows."""
    values = np.asarray(lengths)
    groups: list[NDArray[np.intp]] = []
    waiting: list[NDArray[np.intp]] = []
    for length in sorted(set(values.tolist())):
        waiting.append(np.flatnonzero(values == length))
        if sum(map(len, waiting)) >= FEWEST:
            groups.append(np.concatenate(waiting))
            waiting = []
    if waiting:  # too few of the longest: merge them with the last group
        last = groups.pop() if groups else np.empty(0, np.intp)
        groups.append(np.concatenate([last, *waiting]))
    return groups
