"""Which words make the caption wrong: a score a word in [0, 1], higher is more suspect.

Signs, each in [0, 1], weighed and summed (`WordWeights`):

* *gain*: what deleting the word alone brings, relative to the largest such gain of the caption; a
  word whose deletion hurts has none. The trajectory's first look at every word, unspoilt by
  later deletions.
* *order*: 1 for the word removed first, falling to 0 at the peak. Greedy removal takes the worst
  word first, and what only looks bad beside it not at all.
* *peak*: 1 for words removed until the score is at its highest: all that stands in its way.
* *auxiliary gain*: as gain, by the model's second opinion, where it has one.
* *surprise*: how little a captioner expected the word, relative to the word it expected least,
  where one has read the caption (`engine/expectation.py`).

Signs that a model or a dataset does not have are left out, and the others share the whole.

If the probability of error is known, the whole is scaled by how suspicious the pair is at all, so
that right captions stay unmarked. Words the model does not read have no score.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.types import SuspectWord
from backend.engine.english import FUNCTION_WORDS
from backend.engine.trajectories.trajectory import Trajectory

#: Suspicion from which a word is called suspect at all.
VISIBLE = 0.15
#: A captioner's least expected word surprises fully from here on: -log p in nats.
_FULL_SURPRISE = 2.0


@dataclass(frozen=True)
class WordWeights:
    """What each sign counts for; only their ratios matter.

    The captioner's word counts as much as all that deletions say together. It was not fitted: added
    with equal weight to what there was, on other seeds than those reported. `function_words` is a
    factor for "a", "in", "of", which are wrong only together with another word. `word_weights` fits
    all of them to a dataset's injected errors.
    """

    gain: float = 0.55
    order: float = 0.3
    peak: float = 0.15
    auxiliary_gain: float = 1.0
    surprise: float = 2.0
    function_words: float = 0.2

    def of_signs(self) -> NDArray[np.float64]:
        """In the order of `word_signs`, shape [5]."""
        return np.array([getattr(self, name) for name in SIGNS])

    def to_json(self) -> dict[str, float]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_json(cls, value: dict[str, Any] | None) -> "WordWeights":
        """Those of a classifier that was stored before weights were fitted: the default."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: float(w) for name, w in (value or {}).items() if name in known})


SIGNS = ("gain", "order", "peak", "auxiliary_gain", "surprise")
DEFAULT = WordWeights()


def word_signs(trajectory: Trajectory) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Each word's signs in [0, 1], shape [words read, 5], and which of them there are, [5]."""
    words = len(trajectory.first_step_scores)
    signs = np.zeros((words, len(SIGNS)))
    gain, order, peak = _along_the_trajectory(trajectory)
    signs[:, 0], signs[:, 1], signs[:, 2] = gain, order, peak
    auxiliary, expectation = trajectory.auxiliary, trajectory.expectation
    if auxiliary is not None:
        signs[:, 3] = _relative(auxiliary.deletion_gains)
    if expectation is not None:
        surprise = -expectation.log_p.astype(np.float64)[:words]
        signs[: len(surprise), 4] = surprise / max(surprise.max(initial=0.0), _FULL_SURPRISE)
    return signs, np.array([True, True, True, auxiliary is not None, expectation is not None])


def is_function_word(trajectory: Trajectory) -> NDArray[np.bool_]:
    """Of each word read, shape [words read]."""
    words = trajectory.caption.words[: len(trajectory.first_step_scores)]
    return np.array([word.lower() in FUNCTION_WORDS for word in words], np.bool_)


def word_scores(trajectory: Trajectory, weights: WordWeights = DEFAULT) -> NDArray[np.float64]:
    """Suspicion of each word the model reads, in [0, 1], shape [len(first_step_scores)]."""
    signs, known = word_signs(trajectory)
    weight = weights.of_signs() * known
    scores = signs @ weight / max(float(weight.sum()), 1e-9)
    factor = np.where(is_function_word(trajectory), weights.function_words, 1.0)
    clipped: NDArray[np.float64] = np.clip(scores * factor, 0.0, 1.0)
    return clipped


def _relative(gains: np.ndarray) -> np.ndarray:
    """Gains as shares of the largest; a word whose deletion hurts has none."""
    rising = np.maximum(gains.astype(np.float64), 0.0)
    largest = rising.max(initial=0.0)
    return rising / largest if largest > 1e-9 else rising * 0


def _along_the_trajectory(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gain, order and peak of each word; nothing where no removal improves the caption."""
    gains = trajectory.deletion_gains
    order = np.zeros(len(gains))
    if not len(gains) or trajectory.peak == 0:
        return order, order, order
    until_peak = trajectory.removed[: trajectory.peak]
    for place, word in enumerate(until_peak):
        if word < len(order):  # a token may belong to a word that is not wholly read
            order[word] = max(order[word], 1 - place / trajectory.peak)
    in_peak = np.isin(np.arange(len(gains)), until_peak).astype(np.float64)
    return _relative(gains), order, in_peak


def suspect_words(
    trajectory: Trajectory, p_error: float | None = None, weights: WordWeights = DEFAULT
) -> tuple[SuspectWord, ...]:
    """Every word the model reads with its score, in the order of the caption.

    `p_error` scales the scores: unchanged from 0.7 up, none at 0.
    """
    trust = 1.0 if p_error is None else float(np.clip(p_error / 0.7, 0.0, 1.0))
    return tuple(
        SuspectWord(start, end, round(float(score) * trust, 4))
        for (start, end), score in zip(
            trajectory.caption.spans, word_scores(trajectory, weights), strict=False
        )
    )
