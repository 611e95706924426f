"""Chance-corrected agreement between curators, and disagreement between scorers.

Cohen's kappa (Cohen 1960) for two people over the pairs that both have judged; Krippendorff's alpha
(Krippendorff 2018, nominal) for any number of people with missing judgements. Both are 1 for full
agreement and 0 for agreement at chance level.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from backend.engine.statistics.distributions import mean_ranks
from backend.errors import SettingsError


def rank_disagreement(scores: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The largest difference between a pair's ranks, as a fraction of the dataset, in [0, 1].

    `scores`: one array per scorer, each of shape [pairs] in the same order. Ranks are used because
    a cosine and a probability are not comparable; ties get their mean rank. Raises ValueError for
    fewer than two scorers.
    """
    if len(scores) < 2:
        raise ValueError("one scorer alone agrees with itself")
    shares = np.stack([(mean_ranks(run_scores) - 0.5) / len(run_scores) for run_scores in scores])
    ranges: NDArray[np.float64] = np.ptp(shares, axis=0)
    return ranges


#: Minimum number of pairs judged by more than one person.
FEWEST = 2


@dataclass(frozen=True)
class TwoPeople:
    """`same`: pairs with equal verdicts. `kappa`: None if undefined, because all verdicts are the
    same or there are too few pairs."""

    first: str
    second: str
    pairs: int
    same: int
    kappa: float | None


@dataclass(frozen=True)
class Agreement:
    """`pairs`: those judged by more than one person; `same`: those with unanimous verdicts.
    `alpha`: None if undefined."""

    pairs: int
    same: int
    alpha: float | None
    people: tuple[TwoPeople, ...]


def agreement(judgements: Sequence[Mapping[str, str]]) -> Agreement:
    """Agreement over all judgements. `judgements`: a mapping of name to verdict for each pair."""
    overlap = [judgement for judgement in judgements if len(judgement) > 1]
    same = sum(len(set(judgement.values())) == 1 for judgement in overlap)
    names = sorted({name for judgement in overlap for name in judgement})
    people = [_two(first, second, overlap) for first, second in combinations(names, 2)]
    return Agreement(len(overlap), same, _alpha(overlap), tuple(two for two in people if two.pairs))


def _two(first: str, second: str, judgements: Sequence[Mapping[str, str]]) -> TwoPeople:
    both = [
        (judgement[first], judgement[second])
        for judgement in judgements
        if first in judgement and second in judgement
    ]
    same = sum(a == b for a, b in both)
    kappa = None
    if len(both) >= FEWEST and len({verdict for two in both for verdict in two}) > 1:
        verdicts_of_first, verdicts_of_second = (
            Counter(column) for column in zip(*both, strict=True)
        )
        by_chance = (
            sum(count * verdicts_of_second[verdict] for verdict, count in verdicts_of_first.items())
            / len(both) ** 2
        )
        kappa = (same / len(both) - by_chance) / (1 - by_chance)
    return TwoPeople(first, second, len(both), same, kappa)


def _alpha(judgements: Sequence[Mapping[str, str]]) -> float | None:
    """1 - observed / expected disagreement, by the coincidence matrix (Krippendorff 2018)."""
    verdicts = sorted({verdict for judgement in judgements for verdict in judgement.values()})
    if len(judgements) < FEWEST or len(verdicts) < 2:
        return None
    counts = np.array(
        [[list(j.values()).count(v) for v in verdicts] for j in judgements], np.float64
    )
    people = counts.sum(1, keepdims=True)
    coincidences = (counts / (people - 1)).T @ counts - np.diag((counts / (people - 1)).sum(0))
    totals, n = coincidences.sum(0), coincidences.sum()
    observed = n - np.trace(coincidences)
    expected = (n**2 - (totals**2).sum()) / (n - 1)
    return float(1 - observed / expected)


def check_overlap(share: float, people: int) -> None:
    """Raises SettingsError for an invalid overlap."""
    if not 0 <= share <= 1 or not 2 <= people <= 20:
        raise SettingsError("An overlap is a share of the pairs from 0 to 1, and 2 to 20 people.")
