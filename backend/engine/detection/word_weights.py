"""Weights of the signs of suspect words, fitted without labels.

The changed words of injected errors are known, and cold start creates and scores these errors
anyway. The weights maximise the likelihood that a changed word is the most suspect one in its
caption, if words are sampled with probabilities softmax(score) (a conditional logit):

    maximise   sum over captions of log( sum over changed words of softmax(score)_word )

Weights are non-negative, so that no sign is reversed; a small penalty pulls them towards the
default. They are evaluated by two-fold cross-validation and discarded if they are no better than
the default.

Words that curators mark, or change in a correction, teach in the same way (`learn_word_weights`):
the cold start's weights are the prior, with a penalty that a few captions cannot outweigh, and they
stay unless the learnt ones are clearly better on held-out captions drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

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
#: Learning from people's marks: the fewest captions, and the fewest of them drawn at random; the
#: penalty; the weight of a caption that was not drawn at random; by how many standard errors
#: held-out captions have to be more likely.
FEWEST_MARKED, _FEWEST_AT_RANDOM = 10, 5
_PENALTY_OF_MARKS = 50.0
_NOT_AT_RANDOM = 0.5
_CLEARLY = 2.0
_FOLDS = 5


def fit_word_weights(
    trajectories: Sequence[Trajectory], changes: Sequence[Spans]
) -> WordWeights | None:
    """Weights fitted to these captions; None if there are too few or the default is as good.

    `changes`: for each caption, the character ranges that make it wrong; captions in which all or
    none of the words are changed are skipped."""
    examples = [
        example
        for trajectory, spans in zip(trajectories, changes, strict=True)
        if (example := MarkedWords.of(trajectory, spans)) is not None
    ]
    if len(examples) < FEWEST:
        return None
    halves = (examples[::2], examples[1::2])
    gain = 0.0
    for half, other in (halves, halves[::-1]):
        gain += _likelihood(other, _fit(half)) - _likelihood(other, DEFAULT)
    return _fit(examples) if gain > 0 else None


def changed_words(caption: Caption, spans: Spans, words_read: int) -> NDArray[np.bool_]:
    """Which of the first `read` words overlap the spans, shape [read]."""
    return np.array(
        [any(a < end and start < b for a, b in spans) for start, end in caption.spans[:words_read]],
        np.bool_,
    )


@dataclass(frozen=True)
class MarkedWords:
    """A caption whose wrong words are known: the signs of the words that the model reads,
    [words, 5], which signs are available, [5], which words are function words, and which are wrong,
    both [words]."""

    signs: NDArray[np.float64]
    known: NDArray[np.bool_]
    function: NDArray[np.bool_]
    truth: NDArray[np.bool_]

    @classmethod
    def of(cls, trajectory: Trajectory, spans: Spans) -> "MarkedWords | None":
        """The words of a trajectory, those in the spans wrong; None if all or none of them are."""
        truth = changed_words(trajectory.caption, spans, len(trajectory.first_step_scores))
        if not truth.any() or truth.all():
            return None
        return cls(*word_signs(trajectory), is_function_word(trajectory), truth)

    def scores(self, weights: WordWeights) -> NDArray[np.float64]:
        """How suspect each word is, as in `localisation.word_scores`, [words]."""
        measured_weights = weights.of_signs() * self.known
        means = self.signs @ (measured_weights / max(float(measured_weights.sum()), 1e-9))
        scores: NDArray[np.float64] = means * np.where(self.function, weights.function_words, 1.0)
        return scores

    def is_hit(self, weights: WordWeights) -> bool:
        """Whether the most suspect word is a wrong one."""
        return bool(self.truth[np.argmax(self.scores(weights))])


@dataclass(frozen=True)
class LearntWords:
    """Word weights after people's marks: `is_better` if these have changed them. `hits_before`,
    `hits_after`: in how many of the `compared` captions, drawn at random and held out, the most
    suspect word is a marked one. `is_refused`: nothing here can learn from marks."""

    weights: WordWeights
    captions: int
    is_better: bool = False
    compared: int = 0
    hits_before: int = 0
    hits_after: int = 0
    is_refused: bool = False

    def report(self) -> dict[str, Any]:
        return {
            "marked_captions": self.captions,
            "words_learnt": self.is_better,
            "words_compared": self.compared,
            "words_first_before": self.hits_before,
            "words_first_after": self.hits_after,
            "words_refused": self.is_refused,
        }


def learn_word_weights(
    prior: WordWeights, marks: Sequence[MarkedWords], at_random: Sequence[bool]
) -> LearntWords:
    """Update the weights by captions whose wrong words people have marked. `at_random`: whether
    each was shown because it was drawn at random."""
    is_drawn = np.array(at_random, np.bool_)
    if len(marks) < FEWEST_MARKED or is_drawn.sum() < _FEWEST_AT_RANDOM:
        return LearntWords(prior, len(marks))
    weights = np.where(is_drawn, 1.0, _NOT_AT_RANDOM)

    def fit(rows: NDArray[np.int64]) -> WordWeights:
        examples = [marks[row] for row in rows]
        factors = (prior.function_words,)
        return _fit(examples, prior, _PENALTY_OF_MARKS, factors, weights[rows])

    gains, before, after = np.zeros(len(marks)), 0, 0
    for fold in range(_FOLDS):
        held_out = np.arange(len(marks)) % _FOLDS == fold
        trial = fit(np.flatnonzero(~held_out))
        for row in np.flatnonzero(held_out & is_drawn).tolist():
            likelihoods = [_likelihoods([marks[row]], w)[0] for w in (prior, trial)]
            gains[row] = likelihoods[1] - likelihoods[0]
            before += marks[row].is_hit(prior)
            after += marks[row].is_hit(trial)
    error = float(gains[is_drawn].std(ddof=1)) / is_drawn.sum() ** 0.5
    is_better = after > before and float(gains[is_drawn].mean()) > _CLEARLY * error
    learnt = fit(np.arange(len(marks))) if is_better else prior
    return LearntWords(learnt, len(marks), is_better, int(is_drawn.sum()), before, after)


def _fit(
    examples: Sequence[MarkedWords],
    prior: WordWeights = DEFAULT,
    penalty: float = _PENALTY,
    factors: Sequence[float] = _FACTORS,
    counts: NDArray[np.float64] | None = None,
) -> WordWeights:
    """The best fit over the factors for function words; `counts`: how much each example counts, 1
    by default."""
    from scipy.optimize import minimize

    is_measured = np.any([example.known for example in examples], axis=0)
    start = prior.of_signs() * is_measured
    start = start / start.sum()
    counts = np.ones(len(examples)) if counts is None else counts
    trials = []
    for factor in factors:
        solution = minimize(
            _loss, start, args=(examples, factor, start, penalty, counts), jac=True,
            method="L-BFGS-B", bounds=[(0.0, None) if has else (0.0, 0.0) for has in is_measured],
        )  # fmt: skip
        trials.append((float(solution.fun), factor, solution.x))
    _, factor, weights = min(trials, key=lambda trial: trial[0])
    total = float(weights.sum())
    if total < 1e-6:
        return prior
    weight_of = dict(zip(SIGNS, (weights / total).round(4).tolist(), strict=True))
    # A sign that no caption has keeps its weight, on the scale of the fitted ones.
    share = float((prior.of_signs() * is_measured).sum())
    for name, has, usual in zip(SIGNS, is_measured, prior.of_signs(), strict=True):
        if not has:
            weight_of[name] = round(float(usual) / share, 4)
    return replace(prior, **weight_of, function_words=factor)


def _loss(
    weights: NDArray[np.float64],
    examples: Sequence[MarkedWords],
    factor: float,
    start: NDArray[np.float64],
    penalty: float,
    counts: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """The penalised negative log-likelihood and its gradient."""
    value, slope = 0.0, np.zeros(len(weights))
    for example, count in zip(examples, counts.tolist(), strict=True):
        signs = _STEEPNESS * example.signs * np.where(example.function, factor, 1.0)[:, None]
        chance = _softmax(signs @ weights)
        hit = float(chance[example.truth].sum())
        value -= count * float(np.log(max(hit, 1e-12)))
        among = np.where(example.truth, chance, 0.0) / max(hit, 1e-12)
        slope -= count * signs.T @ (among - chance)
    away = weights - start
    return value + penalty * float(away @ away), slope + 2 * penalty * away


def _likelihood(examples: Sequence[MarkedWords], weights: WordWeights) -> float:
    """Log-likelihood of the changed words; each caption's available signs are weighted to sum 1."""
    return sum(_likelihoods(examples, weights).tolist())


def _likelihoods(examples: Sequence[MarkedWords], weights: WordWeights) -> NDArray[np.float64]:
    chances = (_softmax(_STEEPNESS * e.scores(weights))[e.truth].sum() for e in examples)
    return np.array([np.log(max(chance, 1e-12)) for chance in chances])


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    exponentials = np.exp(scores - scores.max())
    probabilities: NDArray[np.float64] = exponentials / exponentials.sum()
    return probabilities
