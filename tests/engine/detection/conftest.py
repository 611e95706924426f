"""A smaller grid, for tests that train several detectors."""

import pytest

from backend.engine.detection import classifier


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two values per hyperparameter, for tests that do not depend on the size of the grid."""
    monkeypatch.setattr(classifier, "CART_DEPTHS", (5, None))
    monkeypatch.setattr(classifier, "DEPTHS", (3, 4))
    monkeypatch.setattr(classifier, "RATES", (0.05, 0.5))
    monkeypatch.setattr(classifier, "TREES", (50, 100))
