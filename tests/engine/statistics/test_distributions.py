"""Distributions and ranks are SciPy's."""

import numpy as np
import pytest
from scipy import stats

from backend.engine.statistics import distributions


@pytest.mark.parametrize(("hits", "count"), [(0, 1), (1, 1), (0, 40), (3, 40), (40, 40), (7, 9000)])
def test_intervals(hits: int, count: int) -> None:
    expected = stats.binomtest(hits, count).proportion_ci(method="wilson")
    assert distributions.wilson_interval(hits, count) == pytest.approx(tuple(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1), (1, 300), (300, 1), (14, 10), (5, 20_000), (20_000, 5), (1500, 1600)]
)
def test_beta_quantiles(a: int, b: int) -> None:
    for share in (1e-4, 0.025, 0.5, 0.975):
        expected = stats.beta.ppf(share, a, b)
        assert distributions.beta_quantile(share, a, b) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.31, 1.0])
def test_binomial_tails(share: float) -> None:
    for hits, count in ((0, 5), (3, 5), (5, 5), (40, 1000)):
        expected = stats.binomtest(hits, count, share, "greater").pvalue
        assert distributions.binomial_tail(hits, count, share) == pytest.approx(expected, rel=1e-8)


def test_hypergeometric_tails() -> None:
    for hits, drawn, marked, total in ((0, 3, 2, 9), (5, 5, 5, 10), (3, 40, 60, 900), (2, 2, 1, 3)):
        expected = stats.hypergeom.sf(hits - 1, total, marked, drawn)
        tail = distributions.hypergeometric_tail(hits, drawn, marked, total)
        assert tail == pytest.approx(expected, rel=1e-9)


def test_ranks_and_rates() -> None:
    rng = np.random.default_rng(1)
    values = rng.integers(0, 9, 50)
    assert distributions.mean_ranks(values).tolist() == stats.rankdata(values).tolist()
    p = [*rng.random(30), 0.0, 1.0, 0.5, 0.5]
    expected = stats.false_discovery_control(p)
    np.testing.assert_allclose(distributions.false_discovery_rates(p), expected, rtol=1e-12)
