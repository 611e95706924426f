"""Metrics against cases computed by hand, and properties that must hold."""

import numpy as np
import pytest

from research.evaluation import metrics

WRONG = np.array([True, True, False, True, False, False, False, False])
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2])


def test_metrics_of_a_ranking_computed_by_hand() -> None:
    # Of 15 (wrong, right) pairs, one is in the wrong order: 0.7 is above 0.6.
    assert metrics.auc(WRONG, SCORES) == pytest.approx(14 / 15)
    assert metrics.average_precision(WRONG, SCORES) == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert metrics.review_effort(WRONG, SCORES, 0.5) == pytest.approx(2 / 8)
    assert metrics.review_effort(WRONG, SCORES, 0.95) == pytest.approx(4 / 8)
    # Keeping 95 % of five right pairs means keeping all five, and with them the wrong one at 0.6.
    assert metrics.error_rate_at_recall(WRONG, SCORES) == pytest.approx(1 / 6)
    assert metrics.error_rate_at_recall(WRONG, SCORES, 0.8) == 0.0


def test_in_random_order_effort_equals_the_share_found() -> None:
    rng = np.random.default_rng(0)
    wrong, scores = rng.random(20_000) < 0.1, rng.random(20_000)
    for result in (0.5, 0.8, 0.95):
        assert metrics.review_effort(wrong, scores, result) == pytest.approx(result, abs=0.03)
    assert metrics.error_rate_at_recall(wrong, scores) == pytest.approx(0.1, abs=0.01)


def test_true_probabilities_are_calibrated_and_distorted_ones_are_not() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(50_000)
    wrong = rng.random(50_000) < p
    assert metrics.expected_calibration_error(wrong, p) < 0.01
    assert metrics.brier(wrong, p) == pytest.approx(1 / 6, abs=0.005)
    bent = p**3
    assert metrics.expected_calibration_error(wrong, bent) > 0.2
    assert metrics.auc(wrong, bent) == metrics.auc(wrong, p)


def test_the_reliability_diagram_holds_every_pair_once_in_order() -> None:
    bins = metrics.reliability(WRONG, SCORES, 3)
    assert sum(b.pairs for b in bins) == 8
    assert [b.probability for b in bins] == sorted(b.probability for b in bins)
    assert metrics.reliability(WRONG[:1], SCORES[:1])[0].pairs == 1


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.1, 0.5, 0.9])
def test_a_subset_has_the_requested_rate(rate: float) -> None:
    wrong = np.arange(2000) % 2 == 0
    rows = metrics.at_rate(wrong, rate, np.random.default_rng(0))
    assert wrong[rows].mean() == pytest.approx(rate, abs=0.002)
    assert len(set(rows.tolist())) == len(rows)


def test_undefined_metrics_and_rates_are_refused() -> None:
    one_kind = np.ones(4, np.bool_)
    for figure in (metrics.auc, metrics.review_effort, metrics.error_rate_at_recall):
        with pytest.raises(ValueError, match="right and wrong"):
            figure(one_kind, SCORES[:4])
    with pytest.raises(ValueError, match="between 0 and 1"):
        metrics.at_rate(WRONG, 1.5, np.random.default_rng(0))
    with pytest.raises(ValueError, match="too few"):
        metrics.at_rate(WRONG, 0.001, np.random.default_rng(0))
