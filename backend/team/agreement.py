"""How far curators agree, by chance-corrected measures.

Cohen's kappa (Cohen 1960) for two people over the pairs that both have judged; Krippendorff's alpha
(Krippendorff 2018, nominal) for any number of people with judgements missing. Both are 1 for full
agreement and 0 for what chance alone would bring.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import krippendorff
import numpy as np
from sklearn.metrics import cohen_kappa_score

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
    shared = [one for one in judgements if len(one) > 1]
    same = sum(len(set(one.values())) == 1 for one in shared)
    names = sorted({name for one in shared for name in one})
    people = [_two(first, second, shared) for first, second in combinations(names, 2)]
    return Agreement(
        len(shared), same, _alpha(shared, names), tuple(two for two in people if two.pairs)
    )


def _two(first: str, second: str, shared: Sequence[Mapping[str, str]]) -> TwoPeople:
    both = [(one[first], one[second]) for one in shared if first in one and second in one]
    same = sum(a == b for a, b in both)
    kappa = None
    if len(both) >= FEWEST and len({verdict for two in both for verdict in two}) > 1:
        found = float(cohen_kappa_score([a for a, _ in both], [b for _, b in both]))
        kappa = found if math.isfinite(found) else None
    return TwoPeople(first, second, len(both), same, kappa)


def _alpha(shared: Sequence[Mapping[str, str]], names: Sequence[str]) -> float | None:
    verdicts = sorted({verdict for one in shared for verdict in one.values()})
    if len(shared) < FEWEST or len(verdicts) < 2:
        return None
    number = {verdict: float(place) for place, verdict in enumerate(verdicts)}
    table = np.array(
        [[number[one[name]] if name in one else np.nan for one in shared] for name in names]
    )
    found = float(krippendorff.alpha(reliability_data=table, level_of_measurement="nominal"))
    return found if math.isfinite(found) else None


def check_overlap(share: float, people: int) -> None:
    """Raises SettingsError for an overlap that makes no sense."""
    if not 0 <= share <= 1 or not 2 <= people <= 20:
        raise SettingsError("An overlap is a share from 0 to 1 of the pairs, and 2 to 20 people.")
