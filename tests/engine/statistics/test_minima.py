"""Minima are SciPy's."""

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from backend.engine.detection.verdict_learning import _fit
from backend.engine.statistics.minima import least_within


def test_verdicts_teach_what_a_general_minimiser_finds() -> None:
    rng = np.random.default_rng(0)
    for count, signs in ((5, 0), (12, 40), (300, 75)):
        columns = np.c_[np.ones(count), 3 * rng.normal(size=count), rng.normal(size=(count, signs))]
        labels, weights = rng.integers(0, 2, count), rng.random(count)
        mean = np.r_[0.0, 1.0, np.zeros(signs)]
        precisions = np.r_[0.05, 4.0, np.full(signs, 20.0)]

        def loss(x: np.ndarray) -> float:
            odds = columns @ x  # noqa: B023
            likelihood = (weights * (np.logaddexp(0, odds) - labels * odds)).sum()  # noqa: B023
            return float(likelihood + precisions @ (x - mean) ** 2 / 2)  # noqa: B023

        tight = {"gtol": 1e-9}
        expected = minimize(loss, mean, method="BFGS", options=tight).x
        fit = _fit(columns[:, 2:], columns[:, 1], labels, weights, 20.0)
        np.testing.assert_allclose(fit.parameters, expected, atol=2e-5)
        assert loss(fit.parameters) <= loss(expected) + 1e-12


def test_a_minimum_between_two_ends_or_at_one_of_them() -> None:
    for centre in (-1.0, 0.0, 0.7, 2.9, 4.0):

        def loss(x: float) -> float:
            return (x - centre) ** 2 + np.exp(x - centre) - x  # noqa: B023

        expected = minimize_scalar(loss, bounds=(0.0, 3.0), method="bounded").x
        assert abs(least_within(loss, 0.0, 3.0) - expected) < 2e-5
