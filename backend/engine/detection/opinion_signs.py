"""A second model's opinion of a caption: P(yes) when asked whether the picture shows it.

The question is that of the vision-language scorers (VQAScore, Lin et al. 2024, arXiv:2404.01291).
Only the pairs that matter are asked, so the opinion is no column of the detector's features: it is
a sign of its own that moves the log-odds of "the caption is wrong" by `weight` units per spread of
the answers. The weight is 1 until verdicts say otherwise (`fitted_weight`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.types import SuspectWord
from backend.engine.statistics.minima import least_within

#: Weight of the opinion without verdicts: its spread moves the odds by a factor of e. Not tuned.
USUAL_WEIGHT = 1.0
_LARGEST_WEIGHT = 3.0
#: Strength of the belief in the usual weight, as in ridge regression.
_PRIOR = 10.0
_TINY = 1e-12

FloatArray = NDArray[np.float64]
#: (start, end, value) of characters of a caption.
Span = tuple[int, int, float]


def with_opinions(p_error: FloatArray, signs: FloatArray, weight: float) -> FloatArray:
    """Probabilities of error after these opinions, shape [pairs]; a sign of 0 changes nothing."""
    p = np.clip(p_error, _TINY, 1 - _TINY)
    odds = p / (1 - p) * np.exp(-weight * signs)
    after: FloatArray = np.where(signs == 0, p_error, odds / (1 + odds))
    return after


def fitted_weight(p_error: FloatArray, signs: FloatArray, labels: NDArray[np.int64]) -> float:
    """The weight between 0 and 3 that best explains verdicts (1 wrong, 0 right), with the usual one
    as prior. All of shape [pairs]."""

    def loss(weight: float) -> float:
        p = np.clip(with_opinions(p_error, signs, weight), _TINY, 1 - _TINY)
        likelihood = np.where(labels == 1, np.log(p), np.log(1 - p)).sum()
        return float(_PRIOR * (weight - USUAL_WEIGHT) ** 2 / 2 - likelihood)

    if not signs.any():
        return USUAL_WEIGHT
    return round(least_within(loss, 0.0, _LARGEST_WEIGHT), 4)


def with_deletions(
    suspects: Sequence[SuspectWord],
    p_yes: float | None,
    deletions: Sequence[Span],
) -> tuple[SuspectWord, ...]:
    """Suspect words, more suspect by as much as P(yes) rises without them."""
    gain_of = {(start, end): max(0.0, p - (p_yes or 0.0)) for start, end, p in deletions}
    return tuple(
        replace(word, score=round(min(1.0, word.score + gain_of.get((word.start, word.end), 0)), 4))
        for word in suspects
    )
