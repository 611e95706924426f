"""Which pairs of a dataset get whole trajectories, and which only their first step.

The first step takes L queries for a caption of L words, the whole trajectory L (L + 1) / 2. For
detection the first step is enough (`families.EIGHT_SIGNS`; BENCHMARKS.md); later steps explain and
correct. So large datasets get first steps, and whole trajectories only where people look.
"""

import math
from dataclasses import dataclass

from backend.errors import SettingsError

FIRST_STEP, ALL = "first-step", "all"
#: Datasets with more pairs get first steps unless something else is requested.
FIRST_STEP_ABOVE = 20_000


@dataclass(frozen=True)
class Depth:
    """Whole trajectories for a `share` of the pairs, those most likely wrong, or for all with a
    probability of error of at least `above`.

    `name`: as it is typed and stored: first-step, all, top:20% or above:0.7.
    """

    name: str
    share: float = 0.0
    above: float | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all pairs get whole trajectories."""
        return self.name == ALL

    def top(self, pairs: int) -> int:
        """How many of `pairs` pairs get whole trajectories because they are at the top.

        >>> parse_depth("top:20%").top(12)
        3
        """
        return math.ceil(self.share * pairs)


def parse_depth(text: str) -> Depth:
    """Parse the form in which it is typed. Raises SettingsError.

    >>> parse_depth("top:20%").share, parse_depth("above:0.7").above, parse_depth("all").is_whole
    (0.2, 0.7, True)
    """
    if text in (FIRST_STEP, ALL):
        return Depth(text, share=float(text == ALL))
    kind, _, value = text.partition(":")
    try:
        number = float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        number = math.nan
    if kind not in ("top", "above") or not 0 <= number <= 1:
        raise SettingsError(
            f"'{text}' does not say which trajectories to compute. Use first-step, all, top:20% "
            "(of the pairs, the most suspicious) or above:0.7 (a probability of error)."
        )
    return Depth(text, share=number) if kind == "top" else Depth(text, above=number)


def default_depth(pairs: int) -> Depth:
    """The depth for a dataset of this many pairs that has never been scored."""
    return parse_depth(FIRST_STEP if pairs > FIRST_STEP_ABOVE else ALL)
