"""Two-stage selection of training pairs, on arrays.

Stage one keeps the ⌊align · N⌋ pairs with the highest match s_0 (the pool), stage two the
⌊keep · N⌋ of those with the highest value: `keep` is a share of all pairs. Ties go to the earlier
pair, so counts are exact; pairs without a value come last.
"""

from dataclasses import dataclass

import numpy as np

from backend.engine.statistics.highest import Mask, Values, highest, highest_share, whole_share
from backend.errors import SettingsError

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
    pool = highest_share(s_0, takes_part, align)
    selection = highest(values, pool, whole_share(keep, total))
    return Selection(pool, selection, _line(s_0, pool, takes_part), _line(values, selection, pool))


def _line(values: Values, selection: Mask, among: Mask) -> float | None:
    if not selection.any() or bool((selection == among).all()):
        return None
    lowest = float(np.min(values[selection]))
    return None if np.isnan(lowest) else lowest
