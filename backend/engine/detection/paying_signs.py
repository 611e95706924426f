"""Which signs of an error pay on these captions, by verdicts.

The captioner's sign may point the wrong way: captions that a similar model wrote are *likelier* to
it where they are made up. So each sign is compared with the verdicts on its own, those on pairs
drawn at random: among pairs that some signs have chosen as suspicious, the others seem inverted.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.families import Labels, Weights
from backend.engine.detection.features import NAMES, SIGNS, Matrix, has_expectation
from backend.engine.statistics.distributions import mean_ranks

#: Verdicts from which signs are compared, and of a kind.
FEWEST, FEWEST_OF_A_KIND = 50, 8
CAPTIONER, OPINION = "the captioner", "the second opinion"
#: Signs that can be switched off.
OPTIONAL = (CAPTIONER, OPINION)
#: The columns that stand for each sign, by their name for people.
_COLUMNS = {
    "the match": "log-odds of s_0",
    CAPTIONER: "captioner: mean log p",
    "the gain of deletions": "largest deletion gain",
}
_INVERTED = "points the wrong way"


def auc_interval(suspicion: Weights, is_wrong: NDArray[np.bool_]) -> tuple[float, float, float]:
    """AUC, ties half, and its 95 % interval (DeLong 1988) within [0, 1].

    Both kinds must be among the pairs, at least two of each.
    """
    wrong, right = suspicion[is_wrong], suspicion[~is_wrong]
    ranks = mean_ranks(np.r_[wrong, right])
    above_right = (ranks[: len(wrong)] - mean_ranks(wrong)) / len(right)
    below_wrong = 1 - (ranks[len(wrong) :] - mean_ranks(right)) / len(wrong)
    auc = float(above_right.mean())
    variance = above_right.var(ddof=1) / len(wrong) + below_wrong.var(ddof=1) / len(right)
    margin = 1.96 * float(variance) ** 0.5
    return auc, max(auc - margin, 0.0), min(auc + margin, 1.0)


def signs_by_verdicts(
    features: Matrix, labels: Labels, opinions: Weights
) -> dict[str, tuple[float, float, float]]:
    """AUC and interval of each sign on judged pairs; {} with fewer than FEWEST verdicts or
    FEWEST_OF_A_KIND of one kind. A sign that fewer pairs have is left out.

    `features` [pairs, features], `labels` [pairs]: 1 wrong, 0 right; `opinions` [pairs]: a second
    model's, the higher the more likely wrong, 0 for none.
    """
    if features.shape[1] < len(NAMES):
        return {}
    heard = has_expectation(features)
    every = np.ones(len(labels), np.bool_)
    signs: dict[str, tuple[Weights, NDArray[np.bool_]]] = {
        name: (
            SIGNS[column] * features[:, NAMES.index(column)],
            heard if column.startswith("captioner") else every,
        )
        for name, column in _COLUMNS.items()
    }
    signs[OPINION] = opinions, opinions != 0
    return {
        name: auc_interval(suspicion[rows], labels[rows] == 1)
        for name, (suspicion, rows) in signs.items()
        if rows.sum() >= FEWEST and _of_a_kind(labels[rows]) >= FEWEST_OF_A_KIND
    }


def _of_a_kind(labels: Labels) -> int:
    return min(int((labels == 1).sum()), int((labels == 0).sum()))


def harmful(signs: Mapping[str, tuple[float, float, float]]) -> list[str]:
    """The signs that point the wrong way beyond chance and can be switched off.

    >>> harmful({"the captioner": (0.3, 0.2, 0.4), "the match": (0.3, 0.2, 0.4)})
    ['the captioner']
    """
    return [name for name in OPTIONAL if name in signs and signs[name][2] < 0.5]


def signs_in_words(signs: Mapping[str, tuple[float, float, float]]) -> str:
    """Which signs pay, in a sentence; "" without any.

    >>> signs_in_words({"the match": (0.81, 0.7, 0.9)})
    'On these captions the match tells errors (.81, .70 to .90).'
    """
    parts: dict[str, list[str]] = {"tells errors": [], "tells nothing certain": [], _INVERTED: []}
    for name, (auc, low, high) in signs.items():
        what = "tells errors" if low > 0.5 else "tells nothing certain"
        advice = ""
        if high < 0.5:
            what, advice = _INVERTED, ": try learning without it" if name in OPTIONAL else ""
        figures = [f"{value:.2f}".replace("0.", ".", 1) for value in (auc, low, high)]
        parts[what].append(f"{name} {what} ({figures[0]}, {figures[1]} to {figures[2]}){advice}")
    every = [part for of_kind in parts.values() for part in of_kind]
    return f"On these captions {'; '.join(every)}." if every else ""
