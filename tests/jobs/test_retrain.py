"""Adopting: what is in use already changes nothing."""

from types import SimpleNamespace
from typing import Any

import pytest

from backend.jobs import retrain


def test_adopting_the_detector_in_use_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    row = SimpleNamespace(active=True, report={"run": 1}, dataset_id=1)
    monkeypatch.setattr(retrain, "stored_classifier", lambda *_: (row, None))
    store: Any = None  # whoever reads or writes fails
    assert retrain.adopt(store, 7) == 0
