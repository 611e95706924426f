"""A pair's support, and two-stage selection of training pairs by it, on arrays.

Support is the mean of a pair's phrases' attributions after normalisation over a pool: kinds differ
by an order of magnitude, and nouns would dominate the mean. A pair without a testable phrase has no
support, which is not 0. Stage one keeps the ⌊align · N⌋ pairs with the highest match s_0 (the
pool), stage two the ⌊keep · N⌋ of those with the highest support: `keep` is a share of all pairs
(the paper keeps 70 %, then 50 %). Ties go to the earlier pair, so counts are exact; pairs without a
value come last.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.engine.english.phrases import KINDS
from backend.errors import SettingsError

#: Share kept by stage one, for the stored column and as the selection's default.
ALIGN_SHARE = 0.7
_SMALLEST = 1e-6


@dataclass(frozen=True)
class Normalisation:
    """Mean and standard deviation of the attributions of each kind, in the order of KINDS."""

    means: tuple[float, ...]
    deviations: tuple[float, ...]

    def normalised(self, kinds: ArrayLike, values: ArrayLike) -> NDArray[np.float64]:
        """PAS~ of phrases of one or many pairs; `kinds` are indices into KINDS."""
        kind_numbers = np.asarray(kinds, np.intp)
        deviations = np.maximum(np.array(self.deviations), _SMALLEST)
        z_scores: NDArray[np.float64] = (
            np.asarray(values, np.float64) - np.array(self.means)[kind_numbers]
        ) / deviations[kind_numbers]
        return z_scores

    def support(self, kinds: ArrayLike, values: ArrayLike) -> tuple[float | None, float | None]:
        """(support, weakest) of one pair; None, None without a phrase."""
        z_scores = self.normalised(kinds, values)
        if not z_scores.size:
            return None, None
        return float(z_scores.mean()), float(z_scores.min())


class PoolMoments:
    """Running sums over the phrases of a pool, in constant memory."""

    def __init__(self) -> None:
        self._counts = np.zeros(len(KINDS))
        self._sums = np.zeros(len(KINDS))
        self._squares = np.zeros(len(KINDS))

    def add(self, kinds: ArrayLike, values: ArrayLike) -> None:
        kind_numbers, numbers = np.asarray(kinds, np.intp), np.asarray(values, np.float64)
        self._counts += np.bincount(kind_numbers, minlength=len(KINDS))
        self._sums += np.bincount(kind_numbers, numbers, minlength=len(KINDS))
        self._squares += np.bincount(kind_numbers, numbers * numbers, minlength=len(KINDS))

    def normalisation(self) -> Normalisation:
        counts = np.maximum(self._counts, 1)
        means = self._sums / counts
        variances = np.maximum(self._squares / counts - means * means, 0)
        return Normalisation(tuple(means.tolist()), tuple(np.sqrt(variances).tolist()))


Mask = NDArray[np.bool_]
Values = NDArray[np.float64]
#: Minimum size of a pool.
FEWEST = 20


@dataclass(frozen=True)
class Selection:
    """`pool`, `kept`: shape [pairs], subsets of the participating pairs. `align_line`, `keep_line`:
    the lowest match and the lowest value kept; None if a stage is off or includes pairs
    without a value."""

    pool: Mask
    kept: Mask
    align_line: float | None
    keep_line: float | None


def check_shares(align: float, keep: float) -> None:
    """Raise SettingsError for invalid shares."""
    for name, share in (("first", align), ("second", keep)):
        if not 0 < share <= 1:
            raise SettingsError(f"The {name} stage keeps a share above 0, up to 1, not {share:g}.")
    if keep > align:
        raise SettingsError(
            f"The second stage cannot keep more ({keep:.0%}) than the first leaves ({align:.0%})."
        )


def highest(values: Values, among: Mask, count: int) -> Mask:
    """The `count` pairs of `among` with the highest values, shape [pairs].

    >>> highest(np.array([1.0, 3, 3, 3, np.nan]), np.array([True] * 5), 2).tolist()
    [False, True, True, False, False]
    """
    places = np.flatnonzero(among)
    count = min(count, len(places))
    selection = np.zeros(len(values), np.bool_)
    if not count:
        return selection
    comparable = np.where(np.isnan(values[places]), -np.inf, values[places])
    line = np.partition(comparable, len(comparable) - count)[len(comparable) - count]
    above = comparable > line
    ties = np.flatnonzero(comparable == line)[: count - int(above.sum())]
    selection[places[above]] = True
    selection[places[ties]] = True
    return selection


def select(s_0: Values, values: Values, takes_part: Mask, align: float, keep: float) -> Selection:
    """Select among the participating pairs. `values`: scores of stage two, higher is better.

    Raises SettingsError for invalid shares, too few pairs, or if all values are missing."""
    check_shares(align, keep)
    total = int(takes_part.sum())
    if total < FEWEST:
        raise SettingsError(
            f"A selection needs at least {FEWEST} undecided pairs; there are {total}."
        )
    if np.isnan(values[takes_part]).all() or np.isnan(s_0[takes_part]).all():
        raise SettingsError("None of the pairs has a value to select by.")
    pool = pool_of(s_0, takes_part, align)
    selection = highest(values, pool, share_of(keep, total))
    return Selection(pool, selection, _line(s_0, pool, takes_part), _line(values, selection, pool))


def pool_of(s_0: Values, takes_part: Mask, align: float) -> Mask:
    """Stage one: shape [pairs]."""
    return highest(s_0, takes_part, share_of(align, int(takes_part.sum())))


def share_of(share: float, total: int) -> int:
    """⌊share · total⌋, corrected for binary rounding: 0.7 of 10 is 7."""
    return int(np.floor(round(share * total, 6)))


def _line(values: Values, selection: Mask, among: Mask) -> float | None:
    if not selection.any() or bool((selection == among).all()):
        return None
    lowest = float(np.min(values[selection]))
    return None if np.isnan(lowest) else lowest
