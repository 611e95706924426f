"""Estimates how many errors remain, from a random sample that reviewing produces as follows.

The queue is reviewed from the top, so all pairs above some probability p*, *the point*, are
decided. The random audit is reviewed in a random order, so all pairs up to some position in that
order are decided too. Those of them below the point are a random sample of all pairs below it,
no matter who decided them and why: the order is independent of captions, scores and people.

    errors below the point = pairs below · (wrong in the sample / sample)
    remaining = errors below the point - errors below it that are already known

with the Clopper-Pearson interval (1934), whose coverage is guaranteed for any sample size.
"""

from dataclasses import dataclass

from backend.engine.statistics.distributions import beta_quantile

#: A smaller sample gives an interval too wide to be useful.
ENOUGH = 30


@dataclass(frozen=True)
class Remaining:
    """`errors`: estimate of the remaining errors, with its 95 % interval from `low` to `high`,
    based on `sample` of the `below` pairs below the point; `errors_found`: errors below the point
    that are already known, which the estimate excludes."""

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
    undecided_count: int | None = None,
) -> Remaining | None:
    """The estimate described in the module docstring; None without a sample. `undecided_count`:
    pairs of the dataset without a verdict; none of them, and none remains.

    Raises ValueError if the counts contradict each other.

    >>> remaining_errors(0.4, 1000, 100, 5, 5).errors
    45.0
    """
    if not 0 <= wrong_in_sample <= sample <= below or not wrong_in_sample <= errors_found <= below:
        raise ValueError("the counts contradict each other")
    if sample == 0 and undecided_count != 0:
        return None
    if (
        sample == below or undecided_count == 0
    ):  # everything below the point is decided: nothing to estimate
        return Remaining(point, below, sample, wrong_in_sample, errors_found, 0.0, 0.0, 0.0)
    low, high = exact_interval(wrong_in_sample, sample, confidence)
    undecided_count = below - errors_found

    def expected_errors(share: float) -> float:
        return min(max(below * share - errors_found, 0.0), float(undecided_count))

    return Remaining(
        point, below, sample, wrong_in_sample, errors_found,
        expected_errors(wrong_in_sample / sample), expected_errors(low), expected_errors(high),
    )  # fmt: skip


def exact_interval(wrong: int, sample: int, confidence: float = 0.95) -> tuple[float, float]:
    """The exact interval of a share (Clopper and Pearson 1934).

    >>> [round(end, 3) for end in exact_interval(14, 23)]
    [0.385, 0.803]
    """
    tail = (1 - confidence) / 2
    low = beta_quantile(tail, wrong, sample - wrong + 1) if wrong else 0.0
    high = beta_quantile(1 - tail, wrong + 1, sample - wrong) if wrong < sample else 1.0
    return low, high
