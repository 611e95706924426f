"""How many errors remain? The estimate needs a random sample, and this is how it comes about.

The queue is read from the top, so that all pairs above some probability p* are decided: *the
point*. The random audit is read in a random order, so that all pairs up to some place in that
order are decided too. Those of them that lie below the point are a random sample of everything
below it, whoever decided them and why: the order knows nothing of captions, scores or people.

    errors below the point = pairs below · (wrong in the sample / sample)
    remaining = errors below the point - errors below it that were found already

with the interval of Clopper and Pearson (1934), which holds its promise for any sample size.
"""

from dataclasses import dataclass

#: A smaller sample gives an interval too wide to decide anything by.
ENOUGH = 30


@dataclass(frozen=True)
class Remaining:
    """`errors` between `low` and `high` (95 %); `sample` pairs of `below` it rests on;
    `errors_found`: errors below the point that are known already and so not among the
    remaining."""

    point: float | None
    below: int
    sample: int
    wrong_in_sample: int
    errors_found: int
    errors: float
    low: float
    high: float

    @property
    def is_enough(self) -> bool:
        return self.sample >= min(ENOUGH, self.below)


def remaining_errors(
    point: float | None,
    below: int,
    sample: int,
    wrong_in_sample: int,
    errors_found: int,
    confidence: float = 0.95,
) -> Remaining | None:
    """None without a sample: then nothing can be said. See the module for what is what.

    Raises ValueError for counts that contradict each other.

    >>> remaining_errors(0.4, 1000, 100, 5, 5).errors
    45.0
    """
    if not 0 <= wrong_in_sample <= sample <= below or not wrong_in_sample <= errors_found <= below:
        raise ValueError("the counts contradict each other")
    if sample == 0:
        return None
    if sample == below:  # everything below the point is decided: nothing is left to guess
        return Remaining(point, below, sample, wrong_in_sample, errors_found, 0.0, 0.0, 0.0)
    low, high = _interval(wrong_in_sample, sample, confidence)
    undecided = below - errors_found

    def left(share: float) -> float:
        return min(max(below * share - errors_found, 0.0), float(undecided))

    return Remaining(
        point, below, sample, wrong_in_sample, errors_found,
        left(wrong_in_sample / sample), left(low), left(high),
    )  # fmt: skip


def _interval(wrong: int, sample: int, confidence: float) -> tuple[float, float]:
    from scipy.stats import beta

    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, wrong, sample - wrong + 1)) if wrong else 0.0
    high = float(beta.ppf(1 - tail, wrong + 1, sample - wrong)) if wrong < sample else 1.0
    return low, high
