"""Score thresholds that reach a target precision, chosen from verdicts.

    decided pairs, highest score first:   wrong wrong wrong right wrong right right …
    precision down to here:               1.00  1.00  1.00  0.75  0.80  0.67  …
    a precision of 0.8 is reached down to the fifth pair: its score is the threshold

The decided pairs are those that people chose to review, mostly from the top of the queue. The
precision is that of the pairs above the threshold, which is the relevant one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

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
    scored: Sequence[tuple[float, bool]], wanted: Sequence[float] = WANTED
) -> list[Threshold]:
    """The lowest threshold for each target precision; unreachable targets are omitted.

    `scored`: (score, whether the pair is positive, i.e. what a high score predicts) of every
    decided pair.
    """
    from scipy.stats import binomtest

    ranked = sorted(scored, key=lambda pair: -pair[0])
    total = sum(is_so for _, is_so in ranked)
    thresholds: list[Threshold] = []
    for target in wanted:
        best, hits = None, 0
        for count, (score, is_so) in enumerate(ranked, 1):
            hits += is_so
            tied = count < len(ranked) and ranked[count][0] == score
            if not tied and count >= FEWEST and hits / count >= target:
                best = (score, hits, count)
        if best is not None:
            score, hits, count = best
            interval = binomtest(hits, count).proportion_ci(method="wilson")
            thresholds.append(
                Threshold(
                    target, score, hits / count, float(interval.low), float(interval.high), count,
                    hits / total,
                )
            )  # fmt: skip
    return thresholds
