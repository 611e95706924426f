"""Whether the share of errors among pairs is at most a limit, judged from a random sample that
grows until the answer is clear.

A check is run again after every few verdicts. A fixed-sample interval must not be used like that:
looked at often enough it is wrong in far more than one check of twenty. The ratio

    e = probability of the sample if another number of pairs were wrong / if `m` pairs were wrong

averaged over other numbers, is at least 1 / alpha with a probability of at most alpha if `m` pairs
are wrong, however often one looks (Ville's inequality; sampling without replacement as in
Waudby-Smith and Ramdas, "Confidence sequences for sampling without replacement", 2020). The numbers
of wrong pairs that are not rejected are the interval.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class _Direction:
    """Numbers of errors that are clearly more, or fewer, than the one asked about: as parts of it,
    with their weights. Chosen so that the sample is at most 1.2 times one of fixed size that gives
    the right answer in four of five cases, for a limit of 2 % and shares of 0 to 10 %."""

    is_more: bool
    weight_of: dict[float, float]

    def numbers(self, errors: int, pairs: int) -> list[tuple[float, float]]:
        """(number of errors, weight); one more than none is the nearest alternative to none."""
        if self.is_more:
            numbers = (min(max(part * errors, errors + 1.0), pairs) for part in self.weight_of)
        else:
            numbers = (min(part * errors, errors - 1.0) for part in self.weight_of)
        return [pair for pair in zip(numbers, self.weight_of.values(), strict=True) if pair[0] >= 0]


_FEWER = _Direction(False, {0.0: 0.4, 0.3: 0.25, 0.55: 0.35})
_MORE = _Direction(True, {1.5: 0.4, 2.5: 0.4, 5.0: 0.2})

Outcome = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True)
class Sample:
    """`drawn` of `pairs` at random, of which `wrong` are errors."""

    pairs: int
    drawn: int
    wrong: int

    def log_likelihood(self, errors: float) -> float:
        """Of the sample, in the order in which it was drawn, if `errors` of the pairs are wrong; up
        to a constant."""
        right = self.pairs - errors
        if errors < self.wrong or right < self.drawn - self.wrong:
            return -math.inf
        return (
            math.lgamma(errors + 1) - math.lgamma(errors - self.wrong + 1)
            + math.lgamma(right + 1) - math.lgamma(right - (self.drawn - self.wrong) + 1)
        )  # fmt: skip

    def has_fewer_than(self, errors: int, alpha: float) -> bool:
        """Whether it is clear that fewer than `errors` pairs are wrong."""
        return self._rejects(errors, _FEWER, alpha)

    def has_more_than(self, errors: int, alpha: float) -> bool:
        """Whether it is clear that more than `errors` pairs are wrong."""
        return self._rejects(errors, _MORE, alpha)

    def _rejects(self, errors: int, direction: _Direction, alpha: float) -> bool:
        under_null = self.log_likelihood(errors)
        if under_null == -math.inf:
            return (self.wrong > errors) == direction.is_more
        terms = [
            math.log(weight) + self.log_likelihood(number) - under_null
            for number, weight in direction.numbers(errors, self.pairs)
        ]
        most = max(terms, default=-math.inf)
        if most == -math.inf:
            return False
        total = most + math.log(sum(math.exp(term - most) for term in terms))
        return total >= -math.log(alpha)

    def interval(self, confidence: float) -> tuple[int, int]:
        """The fewest and the most pairs that may be wrong. Each end alone holds with a probability
        of 1 - (1 - confidence) / 2."""
        alpha = (1 - confidence) / 2
        fewest, most = self.wrong, self.pairs - (self.drawn - self.wrong)
        low = _first(fewest, most, lambda errors: not self.has_more_than(errors, alpha))
        high = _first(low, most + 1, lambda errors: self.has_fewer_than(errors, alpha)) - 1
        return low, max(low, high)


def outcome_of(sample: Sample, limit: int, confidence: float) -> Outcome:
    """Whether at most `limit` of the pairs are wrong; a wrong "passed" and a wrong "failed" each
    have a probability of at most 1 - confidence.

    >>> outcome_of(Sample(9000, 200, 0), 180, 0.95), outcome_of(Sample(9000, 200, 12), 180, 0.95)
    ('passed', 'failed')
    """
    alpha = 1 - confidence
    most = sample.pairs - (sample.drawn - sample.wrong)
    if sample.wrong > limit:
        return "failed"
    if most <= limit or sample.has_fewer_than(limit + 1, alpha):
        return "passed"
    return "failed" if sample.has_more_than(limit, alpha) else "undecided"


def more_to_draw(sample: Sample, limit: int, confidence: float) -> int:
    """How many more pairs have to be drawn until the answer is clear, if errors go on as they have
    been so far; 0: it is clear."""
    if outcome_of(sample, limit, confidence) != "undecided":
        return 0
    share = sample.wrong / sample.drawn if sample.drawn else 0.0

    def is_clear(more: int) -> bool:
        wrong = sample.wrong + round(share * more)
        grown = Sample(sample.pairs, sample.drawn + more, min(wrong, sample.drawn + more))
        return outcome_of(grown, limit, confidence) != "undecided"

    return _first(1, sample.pairs - sample.drawn, is_clear)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first of the numbers from `low` to `high` from which on it holds; `high` if it does for
    none before."""
    return low + bisect_left(range(low, high), True, key=holds)
