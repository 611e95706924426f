"""A second model's opinion as a sign of the detector."""

import math

import numpy as np
import pytest

from backend.engine.detection.classifier import Calibration, Classifier
from backend.engine.detection.families import S_0
from backend.engine.detection.opinion_signs import (
    USUAL_WEIGHT,
    fitted_weight,
    with_deletions,
    with_opinions,
)
from backend.engine.detection.types import SuspectWord


def test_opinions_move_log_odds_and_can_be_taken_back() -> None:
    p = np.array([0.5, 0.5, 0.2, 0.0, 1.0, math.nan])
    signs = np.array([1.0, -1.0, 0.0, 0.0, 0.0, 0.0])
    moved = with_opinions(p, signs, 1.0)
    assert moved[:2] == pytest.approx([1 / (1 + math.e), math.e / (1 + math.e)])
    assert np.array_equal(moved[2:], p[2:], equal_nan=True)
    assert with_opinions(moved, -signs, 1.0) == pytest.approx(p, nan_ok=True)


@pytest.mark.parametrize(("share_right", "low", "high"), [(1.0, 1.3, 3.0), (0.0, 0.0, 0.6)])
def test_verdicts_say_how_much_the_model_knows(share_right: float, low: float, high: float) -> None:
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 200)
    knows = random.random(200) < share_right
    signs = np.where(knows, 1 - 2 * labels, random.choice([-1, 1], 200)).astype(float)
    assert low < fitted_weight(np.full(200, 0.5), signs, labels) < high
    assert fitted_weight(np.full(200, 0.5), signs * 0, labels) == USUAL_WEIGHT


def test_a_word_without_which_the_model_agrees_is_more_suspect() -> None:
    words = (SuspectWord(0, 3, 0.6), SuspectWord(4, 7, 0.3), SuspectWord(8, 9, 0.1))
    moved = with_deletions(words, 0.1, [(0, 3, 0.05), (4, 7, 0.8)])
    assert [word.score for word in moved] == pytest.approx([0.6, 1.0, 0.1])


def test_a_stored_classifier_keeps_the_weight() -> None:
    classifier = Classifier(S_0, Calibration(), opinion_weight=1.7)
    assert Classifier.from_bytes(classifier.to_bytes()).opinion_weight == 1.7
