"""Metrics for rankings of pairs and for the calibration of probabilities.

All functions take `wrong` [n], True for pairs whose caption is wrong, and a score or probability
[n] that is higher for pairs that look more wrong. They raise ValueError if a metric is undefined
(only one class is present).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

Wrong = NDArray[np.bool_]
Scores = NDArray[np.float64]


def auc(wrong: Wrong, scores: Scores) -> float:
    """Probability that a wrong pair scores higher than a right one; ties count half."""
    _both_kinds(wrong)
    return float(roc_auc_score(wrong, scores))


def average_precision(wrong: Wrong, scores: Scores) -> float:
    """Mean precision over the ranks of the wrong pairs."""
    _both_kinds(wrong)
    return float(average_precision_score(wrong, scores))


def error_rate_at_recall(wrong: Wrong, scores: Scores, recall: float = 0.95) -> float:
    """Share of wrong pairs among the pairs kept if a share `recall` of the clean pairs is kept.

    Pairs are kept in order of increasing score until `recall` of the clean ones are included; all
    pairs tied at the threshold are kept.

    >>> wrong = np.array([False, False, True, False, True])
    >>> error_rate_at_recall(wrong, np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 1.0)
    0.25
    """
    _both_kinds(wrong)
    clean = np.sort(scores[~wrong])
    border = clean[int(np.ceil(recall * len(clean))) - 1]
    mask = scores <= border
    return float(wrong[mask].mean())


def review_effort(wrong: Wrong, scores: Scores, recall: float = 0.8) -> float:
    """Share of all pairs that a curator must review, most suspect first, to find a share `recall`
    of the wrong ones. For a random order, the expected value is about `recall`.

    >>> wrong = np.array([True, False, True, False])
    >>> review_effort(wrong, np.array([0.9, 0.8, 0.7, 0.1]), 1.0)
    0.75
    """
    _both_kinds(wrong)
    ranking = wrong[np.argsort(-scores, kind="stable")]
    target = int(np.ceil(recall * ranking.sum()))
    return float((np.searchsorted(np.cumsum(ranking), target) + 1) / len(ranking))


def brier(wrong: Wrong, probabilities: Scores) -> float:
    """Brier score: mean squared error of the probabilities; 0 is perfect, always 0.5 gives 0.25."""
    return float(np.mean((probabilities - wrong) ** 2))


@dataclass(frozen=True)
class Bin:
    """Pairs of similar probability: mean probability, share of wrong pairs, number of pairs."""

    probability: float
    share_wrong: float
    pairs: int


def reliability(wrong: Wrong, probabilities: Scores, bins: int = 10) -> list[Bin]:
    """The reliability diagram: equal-count bins in order of probability."""
    order = np.argsort(probabilities, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
    return [
        Bin(float(probabilities[part].mean()), float(wrong[part].mean()), len(part))
        for part in parts
    ]


def expected_calibration_error(wrong: Wrong, probabilities: Scores, bins: int = 10) -> float:
    """Expected calibration error: mean absolute difference between probability and share of wrong
    pairs, over the bins of `reliability`."""
    curve = reliability(wrong, probabilities, bins)
    return sum(b.pairs * abs(b.probability - b.share_wrong) for b in curve) / len(wrong)


def at_rate(wrong: Wrong, rate: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """Indices of a random subset with a share `rate` of wrong pairs: real data is not half wrong.

    One class is kept completely and the other is subsampled. Raises ValueError if the rate cannot
    be reached with at least one pair of each class.
    """
    _both_kinds(wrong)
    bad, good = np.flatnonzero(wrong), np.flatnonzero(~wrong)
    if not 0 < rate < 1:
        raise ValueError(f"A rate of errors lies between 0 and 1, not at {rate}.")
    most_bad = round(len(good) * rate / (1 - rate))
    if most_bad <= len(bad):
        bad = generator.choice(bad, most_bad, replace=False)
    else:
        good = generator.choice(good, round(len(bad) * (1 - rate) / rate), replace=False)
    if not len(bad) or not len(good):
        raise ValueError(f"There are too few pairs for a rate of {rate:.0%}.")
    return np.sort(np.concatenate([bad, good]))


def _both_kinds(wrong: Wrong) -> None:
    if not wrong.any() or wrong.all():
        raise ValueError("Both right and wrong pairs are needed.")
