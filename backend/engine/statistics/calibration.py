"""Statistics of the verdicts so far: precision of flagged pairs, calibration, errors over time."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Pairs at least this probable count as flagged.
FLAGGED = 0.5
_BINS = 10
_POINTS = 200


@dataclass(frozen=True)
class Decided:
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
        from scipy.stats import binomtest

        test = binomtest(round(self.share_wrong * self.pairs), self.pairs)
        ends = test.proportion_ci(method="wilson")
        return float(ends.low), float(ends.high)


def precision_of_flagged(decided: Sequence[Decided]) -> tuple[float | None, int]:
    """Share of errors among flagged decided pairs (None without any), and the number of these."""
    flagged = [pair for pair in decided if pair.p_error is not None and pair.p_error >= FLAGGED]
    if not flagged:
        return None, 0
    return sum(pair.is_error for pair in flagged) / len(flagged), len(flagged)


def calibration(decided: Sequence[Decided]) -> list[CalibrationBin]:
    """Equal-sized bins in order of probability; fewer bins for few pairs."""
    predictions = sorted(
        (pair.p_error, pair.is_error) for pair in decided if pair.p_error is not None
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


def errors_found(decided: Sequence[Decided]) -> list[tuple[int, int]]:
    """The curve of (pairs decided, errors among them), at most a few hundred points."""
    curve, errors = [(0, 0)], 0
    every = max(1, len(decided) // _POINTS)
    for number, pair in enumerate(decided, 1):
        errors += pair.is_error
        if number % every == 0 or number == len(decided):
            curve.append((number, errors))
    return curve


def suspects_hit(
    marked: Iterable[tuple[set[tuple[int, int]], Sequence[tuple[int, int, float]]]],
) -> tuple[int, float, float] | None:
    """(pairs, top-1 hit rate, chance level) of suspect words against marked ones; None if no word
    is marked.

    `marked`: for each pair the marked spans, and (start, end, suspicion) of every word.
    """
    hits, chances = [], []
    for spans, words in marked:
        is_hit = [(start, end) in spans for start, end, _ in words]
        if not any(is_hit):
            continue
        top = max(range(len(words)), key=lambda i: words[i][2])
        hits.append(is_hit[top])
        chances.append(sum(is_hit) / len(is_hit))
    if not hits:
        return None
    return len(hits), sum(hits) / len(hits), sum(chances) / len(chances)
