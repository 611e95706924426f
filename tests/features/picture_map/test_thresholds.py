"""Thresholds reach the stated precision on the verdicts that they were chosen from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.features.picture_map.thresholds import FEWEST, WANTED, thresholds

scored = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=80)


@given(scored)
def test_a_threshold_is_the_lowest_that_reaches_the_precision(
    pairs: list[tuple[float, bool]],
) -> None:
    by_target = {threshold.wanted: threshold for threshold in thresholds(pairs)}
    for wanted in WANTED:
        lines = sorted({score for score, _ in pairs})
        keeping = []
        for line in lines:
            above = [is_so for score, is_so in pairs if score >= line]
            if len(above) >= FEWEST and sum(above) / len(above) >= wanted:
                keeping.append(line)
        assert (wanted in by_target) == bool(keeping)
        if keeping:
            threshold = by_target[wanted]
            assert threshold.at == min(keeping)
            assert threshold.precision >= wanted
            assert threshold.low <= threshold.precision <= threshold.high
            assert 0 < threshold.recall <= 1


def test_few_verdicts_give_no_thresholds() -> None:
    assert thresholds([(0.9, True)] * (FEWEST - 1)) == []
    assert len(thresholds([(0.9, True)] * FEWEST)) == len(WANTED)


def test_the_threshold_of_an_example() -> None:
    pairs = [(1 - i / 20, i < 12) for i in range(20)]
    (threshold,) = thresholds(pairs, [0.8])
    assert (threshold.at, threshold.decided, threshold.recall) == (pytest.approx(0.3), 15, 1.0)
