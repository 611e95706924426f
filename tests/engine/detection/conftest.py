"""Less to choose from, for tests that train several detectors."""

import pytest

from backend.engine.detection import classifier


@pytest.fixture
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two values of everything, where it matters that there is a choice and not how large it is."""
    monkeypatch.setattr(classifier, "CART_DEPTHS", (5, None))
    monkeypatch.setattr(classifier, "DEPTHS", (3, 4))
    monkeypatch.setattr(classifier, "RATES", (0.05, 0.5))
    monkeypatch.setattr(classifier, "TREES", (50, 100))
