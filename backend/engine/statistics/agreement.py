"""How far curators agree, by chance-corrected measures.

Cohen's kappa (Cohen 1960) for two people over the pairs that both have judged; Krippendorff's alpha
(Krippendorff 2018, nominal) for any number of people with judgements missing. Both are 1 for full
agreement and 0 for what chance alone would bring.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from backend.errors import SettingsError

#: Fewer common pairs than this say nothing.
FEWEST = 2


@dataclass(frozen=True)
class TwoPeople:
    """`kappa`: None where it is not defined: one verdict for everything, or too few pairs."""

    first: str
    second: str
    pairs: int
    same: int
    kappa: float | None


@dataclass(frozen=True)
class Agreement:
    """`pairs`: judged by more than one person. `alpha`: None where it is not defined."""

    pairs: int
    same: int
    alpha: float | None
    people: tuple[TwoPeople, ...]


def agreement(judgements: Sequence[Mapping[str, str]]) -> Agreement:
    """`judgements`: for each pair that several people have judged, name to verdict."""
    shared = [judgement for judgement in judgements if len(judgement) > 1]
    same = sum(len(set(judgement.values())) == 1 for judgement in shared)
    names = sorted({name for judgement in shared for name in judgement})
    people = [_two(first, second, shared) for first, second in combinations(names, 2)]
    return Agreement(
        len(shared), same, _alpha(shared, names), tuple(two for two in people if two.pairs)
    )


def _two(first: str, second: str, shared: Sequence[Mapping[str, str]]) -> TwoPeople:
    from sklearn.metrics import cohen_kappa_score

    both = [
        (judgement[first], judgement[second])
        for judgement in shared
        if first in judgement and second in judgement
    ]
    same = sum(a == b for a, b in both)
    kappa = None
    if len(both) >= FEWEST and len({verdict for two in both for verdict in two}) > 1:
        score = float(cohen_kappa_score([a for a, _ in both], [b for _, b in both]))
        kappa = score if math.isfinite(score) else None
    return TwoPeople(first, second, len(both), same, kappa)


def _alpha(shared: Sequence[Mapping[str, str]], names: Sequence[str]) -> float | None:
    import krippendorff

    verdicts = sorted({verdict for judgement in shared for verdict in judgement.values()})
    if len(shared) < FEWEST or len(verdicts) < 2:
        return None
    number = {verdict: float(place) for place, verdict in enumerate(verdicts)}
    table = np.array(
        [
            [number[judgement[name]] if name in judgement else np.nan for judgement in shared]
            for name in names
        ]
    )
    score = float(krippendorff.alpha(reliability_data=table, level_of_measurement="nominal"))
    return score if math.isfinite(score) else None


def check_overlap(share: float, people: int) -> None:
    """Raises SettingsError for an overlap that is invalid."""
    if not 0 <= share <= 1 or not 2 <= people <= 20:
        raise SettingsError("An overlap is a share of the pairs from 0 to 1, and 2 to 20 people.")
