"""The chances are SciPy's."""

import numpy as np
import pytest
from scipy import stats

from backend.features.patterns import chances


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.31, 1.0])
def test_binomial_tails(share: float) -> None:
    for hits, count in ((0, 5), (3, 5), (5, 5), (40, 1000)):
        expected = stats.binomtest(hits, count, share, "greater").pvalue
        assert chances.binomial_tail(hits, count, share) == pytest.approx(expected, rel=1e-8)


def test_hypergeometric_tails() -> None:
    for hits, drawn, marked, total in ((0, 3, 2, 9), (5, 5, 5, 10), (3, 40, 60, 900), (2, 2, 1, 3)):
        expected = stats.hypergeom.sf(hits - 1, total, marked, drawn)
        tail = chances.hypergeometric_tail(hits, drawn, marked, total)
        assert tail == pytest.approx(expected, rel=1e-9)


def test_rates() -> None:
    p = [*np.random.default_rng(1).random(30), 0.0, 1.0, 0.5, 0.5]
    expected = stats.false_discovery_control(p)
    np.testing.assert_allclose(chances.false_discovery_rates(p), expected, rtol=1e-12)
