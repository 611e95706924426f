"""Does a caption find its own picture? (SR, self-retrieval)

    specificity      log-probability of the own picture under softmax(tau * s) over itself and its
                     neighbours: at most 0; low values mean a generic caption

The published softmax is over tau * s, although equation (1) omits tau. How often captions retrieve
their picture: `research/bags_and_recall.py`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

#: Scores closer than this are ties: the resolution of float16 vectors.
TIE = 1e-4
#: Neighbours that a caption must tell its picture from.
NEIGHBOURS = 20
#: Scale of models that have none of their own: the initial value in CLIP's and BLIP's training.
USUAL_SCALE = 1 / 0.07


@dataclass(frozen=True)
class Retrieval:
    """`specificity`: a log-probability, at most 0; `rank`: 1 means retrieved; `of`: number of
    pictures compared, including its own; `better`: indices of the others that the caption fits as
    well or better, best first."""

    specificity: float
    rank: int
    of: int
    better: tuple[int, ...]


def retrieve(own_score: float, others: ArrayLike, scale: float) -> Retrieval:
    """Rank the caption's own picture among others by their scores; `scale`: tau.

    >>> found = retrieve(0.30, [0.31, 0.10], scale=100.0)
    >>> found.rank, found.better, round(found.specificity, 3)
    (2, (0,), -1.313)
    """
    scores = np.asarray(others, np.float64)
    order = np.argsort(-scores, kind="stable")
    better = tuple(int(place) for place in order if scores[place] >= own_score - TIE)
    logits = scale * np.concatenate([[own_score], scores])
    top = logits.max()
    log_share = float(logits[0] - top - np.log(np.exp(logits - top).sum()))
    return Retrieval(min(0.0, log_share), len(better) + 1, len(scores) + 1, better)
