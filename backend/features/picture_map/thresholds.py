"""Score thresholds that reach a target precision on the verdicts so far.

The precision is that of the pairs above the threshold, which is the relevant one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.engine.statistics.distributions import wilson_interval

#: Default target precisions.
WANTED = (0.8, 0.9, 0.95)
#: Minimum number of decided pairs above a threshold.
FEWEST = 10


@dataclass(frozen=True)
class Threshold:
    """The threshold `at` for the target precision `wanted`.

    `precision`: share of positives among the `decided` pairs with a score of `at` or more, with its
    95 % interval from `low` to `high` (Wilson). `recall`: share of all decided positives that are
    among them."""

    wanted: float
    at: float
    precision: float
    low: float
    high: float
    decided: int
    recall: float


def thresholds(
    pairs: Sequence[tuple[float, bool]], targets: Sequence[float] = WANTED
) -> list[Threshold]:
    """The lowest threshold for each target precision; unreachable targets are omitted.

    `pairs`: (score, whether the pair is positive, i.e. what a high score predicts) of every
    decided pair.
    """
    ranking = sorted(pairs, key=lambda pair: -pair[0])
    total = sum(is_so for _, is_so in ranking)
    thresholds: list[Threshold] = []
    for target in targets:
        best, hits = None, 0
        for count, (score, is_so) in enumerate(ranking, 1):
            hits += is_so
            tied = count < len(ranking) and ranking[count][0] == score
            if not tied and count >= FEWEST and hits / count >= target:
                best = (score, hits, count)
        if best is not None:
            score, hits, count = best
            low, high = wilson_interval(hits, count)
            thresholds.append(
                Threshold(target, score, hits / count, low, high, count, hits / total)
            )
    return thresholds
