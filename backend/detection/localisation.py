"""Which words make the caption wrong: a score a word in [0, 1], from the trajectory alone.

Three signs, each in [0, 1], weighed and summed:

* *gain*: what deleting the word alone brings, relative to the largest such gain of the caption; a
  word whose deletion hurts has none. The trajectory's first look at every word, unspoilt by
  later deletions.
* *order*: 1 for the word removed first, falling to 0 at the peak. Greedy removal takes the worst
  word first, and what only looks bad beside it not at all.
* *peak*: 1 for words removed until the score is at its highest: all that stands in its way.

A model's second opinion, where there is one, is asked for its own gains of single deletions; both
are averaged, three fifths to the trajectory.

If the probability of error is known, the whole is scaled by how suspicious the pair is at all, so
that right captions stay unmarked. Words the model does not read have no score.
"""

import numpy as np

from backend.detection.types import SuspectWord
from backend.english import FUNCTION_WORDS
from backend.trajectories.trajectory import Trajectory

WEIGHT_OF_GAIN, WEIGHT_OF_ORDER, WEIGHT_OF_PEAK = 0.55, 0.3, 0.15
#: "a", "in", "of" are wrong only together with another word. Half instead of a fifth costs 0.7 % of
#: the hits on drawn scenes; a regression on the same signs, fitted to the truth, gains 1 % more.
WEIGHT_OF_FUNCTION_WORDS = 0.2
#: Of what a second opinion says, beside 1 for the trajectory.
WEIGHT_OF_SECOND = 0.67

#: Suspicion from which a word is called suspect at all.
VISIBLE = 0.15


def word_scores(trajectory: Trajectory) -> np.ndarray:
    """Suspicion of each word the model reads, in [0, 1], shape [len(first_step_scores)]."""
    scores = _along_the_trajectory(trajectory)
    second = trajectory.second
    if second is not None:
        scores = scores + WEIGHT_OF_SECOND * _relative(second.deletion_gains)
        scores = scores / (1 + WEIGHT_OF_SECOND)
    words = trajectory.caption.words
    weight = [
        WEIGHT_OF_FUNCTION_WORDS if words[i].lower() in FUNCTION_WORDS else 1.0
        for i in range(len(scores))
    ]
    found: np.ndarray = np.clip(scores * np.array(weight), 0.0, 1.0)
    return found


def _relative(gains: np.ndarray) -> np.ndarray:
    """Gains as shares of the largest; a word whose deletion hurts has none."""
    rising = np.maximum(gains.astype(np.float64), 0.0)
    largest = rising.max(initial=0.0)
    return rising / largest if largest > 1e-9 else rising * 0


def _along_the_trajectory(trajectory: Trajectory) -> np.ndarray:
    gains = trajectory.deletion_gains
    if not len(gains) or trajectory.peak == 0:
        return np.zeros(len(gains))
    order = np.zeros(len(gains))
    until_peak = trajectory.removed[: trajectory.peak]
    for place, word in enumerate(until_peak):
        if word < len(order):  # a token may belong to a word that is not wholly read
            order[word] = max(order[word], 1 - place / trajectory.peak)
    in_peak = np.isin(np.arange(len(gains)), until_peak).astype(np.float64)
    return WEIGHT_OF_GAIN * _relative(gains) + WEIGHT_OF_ORDER * order + WEIGHT_OF_PEAK * in_peak


def suspect_words(trajectory: Trajectory, p_error: float | None = None) -> tuple[SuspectWord, ...]:
    """Every word the model reads with its score, in the order of the caption.

    `p_error` scales the scores: unchanged from 0.7 up, none at 0.
    """
    trust = 1.0 if p_error is None else float(np.clip(p_error / 0.7, 0.0, 1.0))
    return tuple(
        SuspectWord(start, end, round(float(score) * trust, 4))
        for (start, end), score in zip(
            trajectory.caption.spans, word_scores(trajectory), strict=False
        )
    )
