"""From which score on is a pair what the score says? Chosen from verdicts, with the precision.

    decided pairs, highest score first:   wrong wrong wrong right wrong right right …
    precision down to here:               1.00  1.00  1.00  0.75  0.80  0.67  …
    a precision of 0.8 is kept down to the fifth pair: its score is the threshold

The decided pairs are those that people chose to look at, mostly from the top of the queue: the
precision is that of the pairs above the threshold, which is what a threshold is chosen for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

#: Precisions that are asked for.
WANTED = (0.8, 0.9, 0.95)
#: With fewer decided pairs above it a threshold says nothing.
FEWEST = 10


@dataclass(frozen=True)
class Threshold:
    """Of the `decided` pairs with a score of `at` or more, the share `precision` is what the score
    says; `low` and `high`: its 95 % interval (Wilson). `recall`: the share of all such pairs
    among the decided ones that lies above."""

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
    """The lowest threshold for each precision that can be had; those that cannot are left out.

    `scored`: (score, whether the pair is what a high score says) of every decided pair.
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
