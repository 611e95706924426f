"""Signs are compared with verdicts one by one, and an inverted one is named."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from backend.engine.detection.features import HEARD, NAMES, has_expectation
from backend.engine.detection.paying_signs import (
    FEWEST,
    auc_interval,
    signs_by_verdicts,
    signs_in_words,
)
from backend.learning_texts import learnt_in_words


def judged(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of pairs whose match tells errors and whose captioner finds wrong captions
    likelier."""
    random = np.random.default_rng(4)
    labels = (np.arange(count) % 3 == 0).astype(np.int64)
    features = np.zeros((count, len(NAMES)))
    features[:, NAMES.index("log-odds of s_0")] = random.normal(size=count) - 1.5 * labels
    features[:, NAMES.index("captioner: mean log p")] = random.normal(size=count) + 1.5 * labels
    features[:, NAMES.index("largest deletion gain")] = random.normal(size=count)
    return features, labels


def test_auc_and_interval_are_those_of_delong() -> None:
    random = np.random.default_rng(0)
    wrong = np.arange(200) % 2 == 0
    suspicion = np.round(random.normal(size=200) + wrong, 1)
    auc, low, high = auc_interval(suspicion, wrong)
    assert auc == pytest.approx(roc_auc_score(wrong, suspicion))
    drawn = []
    for _ in range(500):
        rows = np.r_[random.choice(np.flatnonzero(wrong), 100),
                     random.choice(np.flatnonzero(~wrong), 100)]  # fmt: skip
        drawn.append(roc_auc_score(wrong[rows], suspicion[rows]))
    assert np.quantile(drawn, 0.025) == pytest.approx(low, abs=0.02)
    assert np.quantile(drawn, 0.975) == pytest.approx(high, abs=0.02)


def test_a_sign_that_points_the_wrong_way_is_named() -> None:
    features, labels = judged(90)
    opinions = np.zeros(90)
    assert not has_expectation(features).any()
    assert set(signs_by_verdicts(features, labels, opinions)) == {
        "the match", "the gain of deletions",
    }  # fmt: skip
    features[:, NAMES.index(HEARD)] = 1
    signs = signs_by_verdicts(features, labels, opinions + 0.5)
    assert signs["the match"][1] > 0.5
    assert signs["the captioner"][2] < 0.5
    assert signs["the second opinion"][0] == 0.5
    sentence = signs_in_words(signs)
    assert sentence.index("the match") < sentence.index("the captioner points the wrong way")
    assert sentence.endswith("score without it.")
    report = {
        "learnt": "level", "verdicts_wrong": 30, "verdicts_right": 60, "verdicts_at_random": 0,
        "level_is_known": False, "signs": sentence,
    }  # fmt: skip
    assert sentence in learnt_in_words(report)


def test_few_verdicts_say_nothing_of_signs() -> None:
    features, labels = judged(FEWEST - 1)
    assert signs_by_verdicts(features, labels, np.zeros(FEWEST - 1)) == {}
    features, labels = judged(FEWEST + 10)
    assert signs_by_verdicts(features, np.ones_like(labels), np.zeros(FEWEST + 10)) == {}
    assert signs_by_verdicts(features[:, :3], labels, np.zeros(FEWEST + 10)) == {}
    assert signs_in_words({}) == ""
