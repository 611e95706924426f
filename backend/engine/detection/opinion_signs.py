"""A second model's opinion of a caption: P(yes) when asked whether the picture shows it.

The question is that of the vision-language scorers (VQAScore, Lin et al. 2024, arXiv:2404.01291);
P(yes) is read from the log-probabilities of the answer's first token. Only the pairs that matter
are asked, so the opinion is no column of the detector's features: it is a sign of its own that
moves the log-odds of "the caption is wrong" by `weight` units per spread of the answers. The weight
is 1 until verdicts say otherwise (`fitted_weight`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.detection.types import SuspectWord
from backend.engine.statistics.minima import least_within

#: Weight of the opinion without verdicts: its spread moves the odds by a factor of e. Not tuned.
USUAL_WEIGHT = 1.0
#: Words of a doubted caption whose deletion is asked about.
WORDS = 3
_LARGEST_SIGN, _LARGEST_WEIGHT = 3.0, 3.0
#: Strength of the belief in the usual weight, as in ridge regression.
_PRIOR = 10.0
_EDGE, _TINY = 1e-4, 1e-12
#: Yes and no together have at least this probability, or they are no answer.
_LEAST_MASS = 0.1

FloatArray = NDArray[np.float64]
#: (start, end, value) of characters of a caption.
Span = tuple[int, int, float]


def p_yes(likeliest: Sequence[tuple[str, float]]) -> float | None:
    """P(yes) / (P(yes) + P(no)) over all spellings; None if the model most probably says something
    else. A word that is not listed is at most as likely as the last that is, and as all that are
    not listed together.

    >>> p_yes([("Yes", math.log(0.5)), ("no", math.log(0.5))])
    0.5
    >>> p_yes([("<think>", math.log(0.99)), ("Yes", math.log(0.005)), ("No", math.log(0.005))])
    """
    total = {"yes": 0.0, "no": 0.0}
    for token, log_p in likeliest:
        word = token.strip(" \n▁Ġ\"'*.").casefold()
        if word in total:
            total[word] += math.exp(min(log_p, 0.0))
    if sum(total.values()) < _LEAST_MASS:
        return None
    chances = [math.exp(min(log_p, 0.0)) for _, log_p in likeliest]
    least = max(_TINY, min(*chances, 1.0, 1.0 - sum(chances)))
    yes, no = (total[word] or least for word in ("yes", "no"))
    return yes / (yes + no)


def signs_of(answers: Mapping[int, float]) -> dict[int, float]:
    """The log-odds of each answer relative to their median, in units of their spread, at most 3:
    a model that says yes too often moves no pair. By the answers' keys."""
    if not answers:
        return {}
    p = np.clip(np.array(list(answers.values())), _EDGE, 1 - _EDGE)
    odds = np.log(p / (1 - p))
    z_scores = (odds - np.median(odds)) / (odds.std() or 1.0)
    signs = np.clip(z_scores, -_LARGEST_SIGN, _LARGEST_SIGN).round(4)
    return dict(zip(answers, signs.tolist(), strict=True))


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


def without_suspects(caption: str, suspects: Sequence[Span]) -> list[tuple[int, int, str]]:
    """(start, end, caption without the word at these characters) of the most suspect words; none
    if the caption has no other word."""
    original = Caption.parse(caption)
    word_at = {span: word for word, span in enumerate(original.spans)}
    likely = sorted((s for s in suspects if s[2] > 0), key=lambda suspect: -suspect[2])
    words = [word_at[start, end] for start, end, _ in likely if (start, end) in word_at]
    if len(original) < 2:
        return []
    return [(*original.spans[word], original.without([word])) for word in words[:WORDS]]


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
