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


def test_ranks() -> None:
    values = np.random.default_rng(1).integers(0, 9, 50)
    assert distributions.mean_ranks(values).tolist() == stats.rankdata(values).tolist()
