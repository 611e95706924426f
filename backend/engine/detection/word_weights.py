"""Weights of the signs of suspect words, fitted without labels.

The changed words of injected errors are known, and cold start creates and scores these errors
anyway. The weights maximise the likelihood that a changed word is the most suspect one in its
caption, if words are sampled with probabilities softmax(score) (a conditional logit):

    maximise   sum over captions of log( sum over changed words of softmax(score)_word )

Weights are non-negative, so that no sign is reversed; a small penalty pulls them towards the
default. They are evaluated by two-fold cross-validation and discarded if they are no better than
the default.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption
from backend.engine.detection.localisation import (
    DEFAULT,
    SIGNS,
    WordWeights,
    is_function_word,
    word_signs,
)
from backend.engine.trajectories.trajectory import Trajectory

#: Character ranges of the words that an injected error has changed.
Spans = Sequence[tuple[int, int]]

#: Minimum number of captions for fitting.
FEWEST = 60
_FACTORS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
#: Inverse temperature of the softmax over word scores.
_STEEPNESS = 8.0
_PENALTY = 2.0


def fit_word_weights(
    trajectories: Sequence[Trajectory], changed: Sequence[Spans]
) -> WordWeights | None:
    """Weights fitted to these captions; None if there are too few or the default is as good.

    `changed`: for each caption, the character ranges that make it wrong; captions in which all or
    none of the words are changed are skipped."""
    examples = [
        example
        for trajectory, spans in zip(trajectories, changed, strict=True)
        if (example := _example(trajectory, spans)) is not None
    ]
    if len(examples) < FEWEST:
        return None
    halves = (examples[::2], examples[1::2])
    gained = 0.0
    for half, other in (halves, halves[::-1]):
        gained += _likelihood(other, _fitted(half)) - _likelihood(other, DEFAULT)
    return _fitted(examples) if gained > 0 else None


def changed_words(caption: Caption, spans: Spans, words_read: int) -> NDArray[np.bool_]:
    """Which of the first `read` words overlap the spans, shape [read]."""
    return np.array(
        [any(a < end and start < b for a, b in spans) for start, end in caption.spans[:words_read]],
        np.bool_,
    )


class _Example:
    """One caption: its words' signs, which signs are available, which words are function words, and
    which were changed."""

    def __init__(self, trajectory: Trajectory, truth: NDArray[np.bool_]) -> None:
        self.signs, self.known = word_signs(trajectory)
        self.function = is_function_word(trajectory)
        self.truth = truth


def _example(trajectory: Trajectory, spans: Spans) -> _Example | None:
    truth = changed_words(trajectory.caption, spans, len(trajectory.first_step_scores))
    return _Example(trajectory, truth) if truth.any() and not truth.all() else None


def _fitted(examples: Sequence[_Example]) -> WordWeights:
    """The best fit over the factors for function words."""
    from scipy.optimize import minimize

    is_measured = np.any([example.known for example in examples], axis=0)
    start = DEFAULT.of_signs() * is_measured
    start = start / start.sum()
    tried = []
    for factor in _FACTORS:
        solution = minimize(
            _loss, start, args=(examples, factor, start), jac=True, method="L-BFGS-B",
            bounds=[(0.0, None) if has else (0.0, 0.0) for has in is_measured],
        )  # fmt: skip
        tried.append((float(solution.fun), factor, solution.x))
    _, factor, weights = min(tried, key=lambda trial: trial[0])
    total = float(weights.sum())
    if total < 1e-6:
        return DEFAULT
    named = dict(zip(SIGNS, (weights / total).round(4).tolist(), strict=True))
    # A sign that no caption has keeps its default weight, on the scale of the fitted ones.
    share = float((DEFAULT.of_signs() * is_measured).sum())
    for name, has, usual in zip(SIGNS, is_measured, DEFAULT.of_signs(), strict=True):
        if not has:
            named[name] = round(float(usual) / share, 4)
    return replace(DEFAULT, **named, function_words=factor)


def _loss(
    weights: NDArray[np.float64],
    examples: Sequence[_Example],
    factor: float,
    start: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """The penalised negative log-likelihood and its gradient."""
    value, slope = 0.0, np.zeros(len(weights))
    for example in examples:
        signs = _STEEPNESS * example.signs * np.where(example.function, factor, 1.0)[:, None]
        chance = _softmax(signs @ weights)
        hit = float(chance[example.truth].sum())
        value -= float(np.log(max(hit, 1e-12)))
        among = np.where(example.truth, chance, 0.0) / max(hit, 1e-12)
        slope -= signs.T @ (among - chance)
    away = weights - start
    return value + _PENALTY * float(away @ away), slope + 2 * _PENALTY * away


def _likelihood(examples: Sequence[_Example], weights: WordWeights) -> float:
    """Log-likelihood of the changed words; each caption's available signs are weighted to sum 1."""
    total = 0.0
    for example in examples:
        measured_weights = weights.of_signs() * example.known
        scores = example.signs @ (measured_weights / max(float(measured_weights.sum()), 1e-9))
        scores = scores * np.where(example.function, weights.function_words, 1.0)
        total += float(np.log(max(_softmax(_STEEPNESS * scores)[example.truth].sum(), 1e-12)))
    return total


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    raised = np.exp(scores - scores.max())
    probabilities: NDArray[np.float64] = raised / raised.sum()
    return probabilities
