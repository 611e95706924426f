"""Signs are compared with verdicts one by one, and an inverted one is named."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from backend.engine.detection.classifier import Classifier
from backend.engine.detection.families import NineSigns, fit_model
from backend.engine.detection.features import (
    CAPTIONER_WORD_COUNT,
    NAMES,
    feature_matrix,
    has_expectation,
)
from backend.engine.detection.log_odds import Calibration
from backend.engine.detection.paying_signs import (
    FEWEST,
    auc_interval,
    harmful,
    signs_by_verdicts,
    signs_in_words,
)
from backend.engine.detection.verdict_learning import InUse, JudgedPairs, learn
from backend.engine.expectation import Expectation
from backend.engine.trajectories.trajectory import Trajectory
from backend.learning_texts import learnt_in_words
from tests.engine.detection.made_trajectories import World
from tests.engine.detection.test_reasons import READER


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
    features[:, NAMES.index(CAPTIONER_WORD_COUNT)] = 1
    signs = signs_by_verdicts(features, labels, opinions + 0.5)
    assert signs["the match"][1] > 0.5
    assert signs["the captioner"][2] < 0.5
    assert harmful(signs) == ["the captioner"]
    assert signs["the second opinion"][0] == 0.5
    sentence = signs_in_words(signs)
    assert sentence.index("the match") < sentence.index("the captioner points the wrong way")
    assert sentence.endswith("try learning without it.")
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


def heard(world: World, seed: int, surprise: float) -> list[Trajectory]:
    """The trajectories with a captioner's expectations of their words: in wrong captions it expects
    one word less by `surprise`, in units of the noise of its expectations."""
    random = np.random.default_rng(seed)
    trajectories = []
    for trajectory, wrong in zip(world.trajectories, world.wrong, strict=True):
        log_p = random.uniform(-1.5, -0.1, len(trajectory.caption)).astype(np.float32)
        log_p[2] = min(-3 + random.normal() - surprise * wrong, -0.01)
        expectation = Expectation(log_p, -log_p, (), READER)
        trajectories.append(replace(trajectory, expectation=expectation))
    return trajectories


def aucs(seed: int, verdicts: int) -> tuple[float, float, float]:
    """AUC on the pairs that nobody has judged, of a detector whose captioner found errors in
    training and expects them now: before, after verdicts at random, and after the same without
    the captioner."""
    trained, fresh = World(300, 0.5, seed, noise=1.5), World(600, 0.3, seed + 100, noise=1.5)
    features = feature_matrix(heard(trained, seed, 1.5))
    model = fit_model(NineSigns(), features, trained.wrong.astype(np.int64), np.ones(300))
    prior = Classifier(model, Calibration(), captioner=READER)
    trajectories = heard(fresh, seed + 100, -0.7)
    in_use = prior.predict(feature_matrix(trajectories))
    is_judged = np.arange(600) < verdicts
    results = [float(roc_auc_score(fresh.wrong[~is_judged], in_use[~is_judged]))]
    for classifier in (prior, prior.without_captioner()):
        matrix = feature_matrix([classifier.read(each) for each in trajectories])
        pairs = JudgedPairs(
            matrix, classifier.predict(matrix), np.where(is_judged, fresh.wrong, -1), is_judged,
            list(range(600)), np.zeros(600), np.ones(600, np.bool_),
        )  # fmt: skip
        learnt = learn(classifier, InUse(prior, in_use, np.zeros(600, np.bool_)), pairs).classifier
        p_error = learnt.predict(feature_matrix([learnt.read(each) for each in trajectories]))
        results.append(float(roc_auc_score(fresh.wrong[~is_judged], p_error[~is_judged])))
    before, beside, without = results
    return before, beside, without


def test_the_ranking_gains_where_an_inverted_sign_is_switched_off() -> None:
    measured = [aucs(seed, 60) for seed in range(3)]
    assert min(without - before for before, _, without in measured) > 0.02
