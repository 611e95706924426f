"""Explanations of a probability: the terms of the sum, and the words that they refer to."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from backend.engine.detection.classifier import Calibration, Classifier, choose, fold_of
from backend.engine.detection.explanations import SIGNS, backbone_of, reasons_of
from backend.engine.detection.families import (
    EVERY,
    NINE,
    S_0,
    BoostedTrees,
    NineSigns,
    WithOrWithoutCaptioner,
    fit_model,
)
from backend.engine.detection.features import (
    NAMES,
    feature_matrix,
    has_expectation,
    without_expectation,
)
from backend.engine.expectation import Expectation
from backend.engine.trajectories.trajectory import Trajectory
from tests.engine.detection.made_trajectories import World

READER = "reader"


def read(world: World, seed: int = 0) -> list[Trajectory]:
    """The trajectories with a captioner's expectations: wrong captions contain one word that it
    does not expect at all."""
    rng = np.random.default_rng(seed)
    made = []
    for trajectory, wrong in zip(world.trajectories, world.wrong, strict=True):
        log_p = rng.uniform(-1.5, -0.1, len(trajectory.caption)).astype(np.float32)
        if wrong:
            log_p[2] = -7.0
        made.append(replace(trajectory, expectation=Expectation(log_p, -log_p, (), READER)))
    return made


WORLD = World(300, 0.5)
LABELS = WORLD.wrong.astype(np.int64)
WEIGHTS = np.ones(len(LABELS))


def test_contributions_sum_to_the_log_odds() -> None:
    features = feature_matrix(read(WORLD))
    for share in (1.0, 0.4):
        model = NineSigns(share).fit(features, LABELS, WEIGHTS)
        bias = share * model.signs.bias + (1 - share) * model.alone.bias
        parts = model.contributions(features)
        assert parts.shape == (len(features), len(NINE)) == (300, len(SIGNS))
        np.testing.assert_allclose(parts.sum(1) + bias, model.log_odds(features), atol=1e-9)


def test_the_word_that_the_captioner_does_not_expect_is_named() -> None:
    trajectories = read(WORLD)
    features = feature_matrix(trajectories)
    model = fit_model(NineSigns(), features, LABELS, WEIGHTS)
    backbone = backbone_of(model, features, LABELS, WEIGHTS)
    wrong = int(np.flatnonzero(WORLD.wrong)[0])
    reasons = reasons_of(trajectories[wrong], backbone, READER)
    assert reasons is not None
    assert reasons.is_exact
    by_sign = {reason.sign: reason for reason in reasons.listed}
    assert by_sign["captioner lowest"].contribution > 0.2
    assert by_sign["captioner lowest"].words == (2,)
    strengths = [abs(reason.contribution) for reason in reasons.listed]
    assert strengths == sorted(strengths, reverse=True)


def test_evidence_of_another_or_no_captioner_is_not_listed() -> None:
    trajectories = read(WORLD)
    features = feature_matrix(trajectories)
    model = fit_model(NineSigns(), features, LABELS, WEIGHTS)
    backbone = backbone_of(model, features, LABELS, WEIGHTS)
    for trajectory, captioner in ((trajectories[0], "another"), (WORLD.trajectories[0], READER)):
        reasons = reasons_of(trajectory, backbone, captioner)
        assert reasons is not None
        assert not {"captioner lowest", "captioner mean"} & {r.sign for r in reasons.listed}
        assert "deletion" in {r.sign for r in reasons.listed}
    assert reasons_of(trajectories[0], None) is None
    assert reasons_of(trajectories[0], {}) is None


def test_trees_are_explained_by_an_approximate_backbone() -> None:
    features = feature_matrix(read(WORLD))
    model = fit_model(BoostedTrees(3, 0.1, 50, EVERY), features, LABELS, WEIGHTS)
    backbone = backbone_of(model, features, LABELS, WEIGHTS)
    assert backbone["exact"] is False
    reasons = reasons_of(WORLD.trajectories[0], backbone, READER)
    assert reasons is not None
    assert not reasons.is_exact


def test_captions_without_captioner_evidence_are_judged_by_the_other_signs() -> None:
    trajectories = read(WORLD)
    features = feature_matrix(trajectories)
    both = fit_model(NineSigns(), features, LABELS, WEIGHTS)
    assert isinstance(both, WithOrWithoutCaptioner)
    alone = NineSigns().fit(without_expectation(features), LABELS, WEIGHTS)
    silent = without_expectation(features)
    np.testing.assert_allclose(both.log_odds(silent), alone.log_odds(silent), atol=1e-9)
    again = Classifier.from_bytes(Classifier(both, Calibration(), captioner=READER).to_bytes())
    mixed = np.concatenate([features[:5], silent[5:10]])
    np.testing.assert_allclose(again.model.log_odds(mixed), both.log_odds(mixed), atol=1e-9)
    assert again.captioner == READER


@pytest.mark.usefixtures("small_grid")
def test_having_captioner_evidence_is_not_itself_a_sign() -> None:
    """If only wrong captions have captioner evidence, nothing may be learnt from it."""
    trajectories = [
        with_it if wrong else plain
        for plain, with_it, wrong in zip(WORLD.trajectories, read(WORLD), WORLD.wrong, strict=True)
    ]
    features = feature_matrix(trajectories)
    assert has_expectation(features).sum() == LABELS.sum()
    silent = without_expectation(features)
    folds = fold_of(range(len(LABELS)))
    chosen = choose(features, LABELS, WEIGHTS, folds)
    without = choose(silent, LABELS, WEIGHTS, folds)
    assert chosen.auc_of == without.auc_of
    model = fit_model(chosen.model, features, LABELS, WEIGHTS)
    np.testing.assert_allclose(
        model.log_odds(silent), fit_model(chosen.model, silent, LABELS, WEIGHTS).log_odds(silent)
    )


def test_nine_signs_do_no_harm_if_they_are_noise() -> None:
    """Measured on rows that were not used for the choice."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(2500, len(NAMES)))
    odds = -6 * features[:, S_0.columns[0]]
    labels = (rng.random(2500) < 1 / (1 + np.exp(-odds))).astype(np.int64)
    seen, fresh = slice(0, 60), slice(60, None)
    chosen = choose(features[seen], labels[seen], np.ones(60), fold_of(range(60)))
    model = chosen.model.fit(features[seen], labels[seen], np.ones(60))
    by_signs = roc_auc_score(labels[fresh], model.log_odds(features[fresh]))
    assert by_signs > roc_auc_score(labels[fresh], odds[fresh]) - 0.02
