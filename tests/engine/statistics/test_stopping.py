"""The estimate of remaining errors is unbiased, and its interval has the stated coverage."""

import itertools

import numpy as np
import pytest

from backend.engine.statistics.calibration import (
    BinaryVerdict,
    calibration,
    errors_left_by_decided,
    precision_of_flagged,
    suspects_hit,
)
from backend.engine.statistics.stopping import Remaining, remaining_errors


def reviewed(rng: np.random.Generator, size: int, read: int, drawn: int) -> tuple[Remaining, int]:
    """A dataset reviewed from the top for `read` pairs, with `drawn` more at random: the estimate
    and the true number of remaining errors."""
    wrong = rng.random(size) < 0.2
    p = np.clip(0.5 * wrong + rng.normal(0.3, 0.25, size), 0, 1) + 1e-6 * rng.random(size)
    decided = np.zeros(size, np.bool_)
    decided[np.argsort(-p)[:read]] = True
    order = rng.permutation(size)
    decided[order[:drawn]] = True
    point = p[~decided].max()
    below = p <= point
    sample = below.copy()
    sample[order[drawn:]] = False
    remaining = remaining_errors(
        float(point), int(below.sum()), int(sample.sum()), int((sample & wrong).sum()),
        int((below & decided & wrong).sum()),
    )  # fmt: skip
    assert remaining is not None
    return remaining, int((wrong & ~decided).sum())


def test_the_estimate_is_unbiased_and_its_interval_has_its_coverage() -> None:
    rng = np.random.default_rng(1)
    errors, holds = [], []
    for _ in range(400):
        remaining, truth = reviewed(rng, 2000, 500, 150)
        errors.append(remaining.errors - truth)
        holds.append(remaining.low <= truth <= remaining.high)
    mean, spread = np.mean(errors), np.std(errors) / 20
    # Truncation at 0 raises the mean slightly.
    assert abs(mean) < 4 * spread + 3
    assert np.mean(holds) >= 0.93


def test_estimates_agree_with_cases_computed_by_hand() -> None:
    remaining = remaining_errors(0.4, 1000, 100, 5, 5)
    assert remaining is not None
    assert remaining.errors == pytest.approx(45)
    # Clopper and Pearson, 5 of 100.
    assert remaining.low == pytest.approx(1000 * 0.01643 - 5, abs=0.1)
    assert remaining.high == pytest.approx(1000 * 0.11283 - 5, abs=0.1)
    assert remaining.is_enough
    nothing = remaining_errors(0.4, 1000, 50, 0, 0)
    assert nothing is not None
    assert (nothing.errors, nothing.low) == (0, 0)
    assert 60 < nothing.high < 80  # "rule of three": about 3.7 / 50 at 95 % on both sides
    everything = remaining_errors(None, 20, 20, 3, 3)
    assert everything is not None
    assert everything.high == 0
    assert remaining_errors(0.4, 1000, 0, 0, 0) is None
    # Every pair is decided: some of them were no sample, as those that somebody is unsure about.
    for counts in ((0, 0, 0, 0), (10, 9, 2, 2)):
        decided = remaining_errors(None, *counts, undecided_count=0)
        assert decided is not None
        assert (decided.errors, decided.low, decided.high) == (0, 0, 0)
    few = remaining_errors(0.4, 1000, 5, 0, 0)
    assert few is not None
    assert not few.is_enough


@pytest.mark.parametrize("counts", [(10, 20, 0, 0), (10, 5, 6, 6), (10, 5, 2, 1), (10, 5, 2, 11)])
def test_counts_that_contradict_each_other_are_refused(counts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="contradict"):
        remaining_errors(0.4, *counts)


def test_precision_calibration_and_errors_left_by_pairs_read() -> None:
    decided = [BinaryVerdict(p / 100, p >= 60) for p in range(100)] + [BinaryVerdict(None, True)]
    assert precision_of_flagged(decided) == (0.8, 50)
    assert precision_of_flagged([BinaryVerdict(0.1, False)]) == (None, 0)
    bins = calibration(decided)
    assert [bin.pairs for bin in bins] == [10] * 10
    assert [bin.share_wrong for bin in bins] == [0.0] * 6 + [1.0] * 4
    assert calibration(decided[:3]) == []
    errors = [float(pair.is_error) for pair in decided]
    way = errors_left_by_decided(errors, 9.5)
    assert way[0] == (0, 50.5)
    assert way[-1] == (101, 9.5)
    assert all(a >= b for (_, a), (_, b) in itertools.pairwise(way))
    assert len(errors_left_by_decided(errors * 100, 9.5)) < 250
    assert errors_left_by_decided([], 9.5) == [(0, 9.5)]


def test_suspect_words_are_compared_with_those_that_people_marked() -> None:
    words = [(0, 1, 0.2), (2, 5, 0.9), (6, 9, 0.0), (10, 14, 0.4)]
    hit = ({(2, 5)}, words)
    missed = ({(0, 1), (10, 14)}, words)
    elsewhere = ({(50, 60)}, words)  # beyond what the model reads
    assert suspects_hit([hit, missed, elsewhere]) == (2, 0.5, 0.375)
    assert suspects_hit([elsewhere]) is None
