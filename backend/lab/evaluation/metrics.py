"""How good is a ranking of pairs, and how true are its probabilities?

All functions take `wrong` [n], True for pairs whose caption is wrong, and a score or probability
[n] that is higher for what looks more wrong. They raise ValueError where a figure has no meaning
(all pairs of one kind).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

Wrong = NDArray[np.bool_]
Scores = NDArray[np.float64]


def auc(wrong: Wrong, scores: Scores) -> float:
    """Chance that a wrong pair scores above a right one; ties count half."""
    _both_kinds(wrong)
    return float(roc_auc_score(wrong, scores))


def average_precision(wrong: Wrong, scores: Scores) -> float:
    """Mean precision over the ranks at which wrong pairs stand."""
    _both_kinds(wrong)
    return float(average_precision_score(wrong, scores))


def error_rate_at_recall(wrong: Wrong, scores: Scores, recall: float = 0.95) -> float:
    """Share of wrong pairs among those kept, when so much of the clean pairs is kept.

    Pairs are kept from the lowest score up until `recall` of the right ones are in; a tie at the
    border is kept whole.

    >>> wrong = np.array([False, False, True, False, True])
    >>> error_rate_at_recall(wrong, np.array([0.1, 0.2, 0.3, 0.4, 0.5]), 1.0)
    0.25
    """
    _both_kinds(wrong)
    clean = np.sort(scores[~wrong])
    border = clean[int(np.ceil(recall * len(clean))) - 1]
    kept = scores <= border
    return float(wrong[kept].mean())


def review_effort(wrong: Wrong, scores: Scores, recall: float = 0.8) -> float:
    """Share of all pairs that a curator must look at, most suspect first, to meet `found` of the
    wrong ones. In random order it is `found` itself.

    >>> wrong = np.array([True, False, True, False])
    >>> review_effort(wrong, np.array([0.9, 0.8, 0.7, 0.1]), 1.0)
    0.75
    """
    _both_kinds(wrong)
    ranked = wrong[np.argsort(-scores, kind="stable")]
    needed = int(np.ceil(recall * ranked.sum()))
    return float((np.searchsorted(np.cumsum(ranked), needed) + 1) / len(ranked))


def brier(wrong: Wrong, probabilities: Scores) -> float:
    """Mean squared difference between probability and truth; 0 is perfect, 0.25 knows nothing."""
    return float(np.mean((probabilities - wrong) ** 2))


@dataclass(frozen=True)
class Bin:
    """Pairs of similar probability: how probable, and how many of them were wrong."""

    probability: float
    share_wrong: float
    pairs: int


def reliability(wrong: Wrong, probabilities: Scores, bins: int = 10) -> list[Bin]:
    """The reliability diagram: bins of equally many pairs, in order of probability."""
    order = np.argsort(probabilities, kind="stable")
    parts = [part for part in np.array_split(order, min(bins, len(order))) if len(part)]
    return [
        Bin(float(probabilities[part].mean()), float(wrong[part].mean()), len(part))
        for part in parts
    ]


def expected_calibration_error(wrong: Wrong, probabilities: Scores, bins: int = 10) -> float:
    """Mean distance between probability and share of wrong pairs over the reliability bins."""
    curve = reliability(wrong, probabilities, bins)
    return sum(b.pairs * abs(b.probability - b.share_wrong) for b in curve) / len(wrong)


def at_rate(wrong: Wrong, rate: float, generator: np.random.Generator) -> NDArray[np.int64]:
    """Rows of a subset in which so large a share is wrong: real data is not half wrong.

    All pairs of the kind that is too rare are kept, the other kind is drawn from. Raises ValueError
    if the rate cannot be had with one pair of each kind at least.
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
