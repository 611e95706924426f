"""Detectors that are trained on true labels."""

import numpy as np
import pytest

from backend.engine.detection.classifier import fold_of
from backend.errors import SettingsError
from research.evaluation.labelled_detectors import (
    FEWEST_FOR_MORE,
    LABELLED_DETECTORS,
    choose_labelled,
)
from tests.engine.detection.test_classifier import table
from tests.fixtures.small_cold_start import use_grid


@pytest.fixture(autouse=True)
def small_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    use_grid(monkeypatch, CART_DEPTHS=(5,), DEPTHS=(3,), RATES=(0.05, 0.5), TREES=(50, 100))


def test_few_labels_allow_only_simple_models() -> None:
    """With few labels, the best of many candidates is best by chance."""
    more = {"xgboost on s_0", "logistic", "ensemble"}
    for count, others in ((FEWEST_FOR_MORE - 1, set()), (FEWEST_FOR_MORE, more)):
        features, labels = table(count)
        folds, weights = fold_of(list(range(count))), np.ones(count)
        tried = choose_labelled(features, labels, weights, folds).auc_of.keys()
        assert tried == {"s_0 alone", "nine signs"} | others


@pytest.mark.parametrize("name", [n for n in LABELLED_DETECTORS if n not in ("best", "paper")])
def test_a_detector_can_be_chosen_by_name(name: str) -> None:
    features, labels = table(300)
    folds, weights = fold_of(list(range(300))), np.ones(300)
    chosen = choose_labelled(features, labels, weights, folds, name)
    assert chosen.model.kind == name
    fitted = chosen.model.fit(features, labels, weights)
    assert np.corrcoef(fitted.log_odds(features), labels)[0, 1] > 0.3
    with pytest.raises(SettingsError, match="no detector"):
        choose_labelled(features, labels, weights, folds, "oracle")
