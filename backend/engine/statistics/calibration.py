"""Statistics of the verdicts so far: precision of flagged pairs, calibration, and errors over time.

The decided pairs are those that people chose to review, mostly from the top of the queue.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from backend.engine.statistics.distributions import wilson_interval

#: Pairs at least this probable count as flagged.
FLAGGED = 0.5
_BINS = 10
_POINTS = 200


@dataclass(frozen=True)
class BinaryVerdict:
    """A right or wrong verdict. Sequences of these are in the order the verdicts were given."""

    p_error: float | None
    is_error: bool


@dataclass(frozen=True)
class CalibrationBin:
    """Decided pairs of similar probability: mean probability, share wrong, number of pairs."""

    probability: float
    share_wrong: float
    pairs: int

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of `share_wrong` (Wilson, 1927).

        >>> tuple(round(end, 2) for end in CalibrationBin(0.7, 0.8, 10).interval)
        (0.49, 0.94)
        """
        return wilson_interval(round(self.share_wrong * self.pairs), self.pairs)


def precision_of_flagged(verdicts: Sequence[BinaryVerdict]) -> tuple[float | None, int]:
    """Share of errors among flagged decided pairs (None without any), and the number of these."""
    flagged_pairs = [
        pair for pair in verdicts if pair.p_error is not None and pair.p_error >= FLAGGED
    ]
    if not flagged_pairs:
        return None, 0
    return sum(pair.is_error for pair in flagged_pairs) / len(flagged_pairs), len(flagged_pairs)


def calibration(verdicts: Sequence[BinaryVerdict]) -> list[CalibrationBin]:
    """Equal-sized bins in order of probability; fewer bins for few pairs."""
    predictions = sorted(
        (pair.p_error, pair.is_error) for pair in verdicts if pair.p_error is not None
    )
    count = min(_BINS, len(predictions) // 5)
    edges = [round(k * len(predictions) / count) for k in range(count + 1)] if count else []
    bins = []
    for first, last in itertools.pairwise(edges):
        part = predictions[first:last]
        bins.append(
            CalibrationBin(
                sum(p for p, _ in part) / len(part),
                sum(wrong for _, wrong in part) / len(part),
                len(part),
            )
        )
    return bins


def errors_left_by_decided(errors: Sequence[float], left: float) -> list[tuple[int, float]]:
    """The curve of (pairs decided, errors left then), at most a few hundred points. `errors`: of
    each decided pair, in the order of the decisions; `left`: errors among the others.

    >>> errors_left_by_decided([1.0, 0.5, 0.0], 20.0)
    [(0, 21.5), (1, 20.5), (2, 20.0), (3, 20.0)]
    """
    every = max(1, len(errors) // _POINTS)
    lefts = list(itertools.accumulate(reversed(errors), initial=left))[::-1]
    last = len(errors)
    return [(n, lefts[n]) for n in range(last + 1) if n % every == 0 or n == last]


def suspects_hit(
    pairs: Iterable[tuple[set[tuple[int, int]], Sequence[tuple[int, int, float]]]],
) -> tuple[int, float, float] | None:
    """(pairs, top-1 hit rate, chance level) of suspect words against marked ones; None if no word
    is marked.

    `pairs`: for each pair the marked spans, and (start, end, suspicion) of every word.
    """
    hits, chances = [], []
    for spans, words in pairs:
        is_hit = [(start, end) in spans for start, end, _ in words]
        if not any(is_hit):
            continue
        top = max(range(len(words)), key=lambda i: words[i][2])
        hits.append(is_hit[top])
        chances.append(sum(is_hit) / len(is_hit))
    if not hits:
        return None
    return len(hits), sum(hits) / len(hits), sum(chances) / len(chances)
