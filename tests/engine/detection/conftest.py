"""A smaller grid, for tests that train several detectors."""

import pytest

from tests.fixtures.small_cold_start import use_grid

#: Two values per hyperparameter, for tests that do not depend on the size of the grid.
SMALL = {"CART_DEPTHS": (5, None), "DEPTHS": (3, 4), "RATES": (0.05, 0.5), "TREES": (50, 100)}


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    use_grid(monkeypatch, **SMALL)
