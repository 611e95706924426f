"""Choice, calibration, storage."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from backend.engine.detection.classifier import (
    Calibration,
    Classifier,
    calibrate,
    choose,
    fold_of,
)
from backend.engine.detection.cold_start import cold_start
from backend.engine.detection.families import (
    EVERY,
    PAPERS_OWN,
    S_0,
    THEORY,
    BoostedTrees,
    Cart,
    Linear,
)
from backend.engine.detection.features import NAMES, SIGNS, SUMMARY, feature_matrix
from backend.engine.detection.types import DETECTORS, detector_for
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from backend.errors import SettingsError, TrainingError
from tests.engine.detection.made_trajectories import World, trajectory
from tests.fixtures.small_cold_start import use_grid


def table(count: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Wrong rows have a low s_0 or a large gain."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(count, len(NAMES)))
    s_0, gain = features[:, S_0.columns[0]], features[:, NAMES.index("gain of the best step")]
    odds = -1.2 * s_0 + 2.0 * np.maximum(gain, 0) * (s_0 > -0.5)
    labels = (rng.random(count) < 1 / (1 + np.exp(-(odds - 0.5) * 2))).astype(np.int64)
    return features, labels


MODELS = [
    S_0,
    Linear("logistic", EVERY, 0.3),
    Cart(5, EVERY),
    Cart(None, THEORY),
    BoostedTrees(3, 0.1, 50, THEORY),
    BoostedTrees(3, 0.1, 50, PAPERS_OWN, held=False),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_a_stored_classifier_predicts_the_same(model: object) -> None:
    features, labels = table()
    fitted = model.fit(features, labels, np.ones(len(labels)))  # pyrefly: ignore[missing-attribute]
    before = Classifier(fitted, Calibration(0.9, -0.2, 0.4))
    after = Classifier.from_bytes(before.to_bytes())
    assert after.kind == before.kind
    np.testing.assert_allclose(after.predict(features), before.predict(features), atol=1e-6)
    assert np.ptp(before.predict(features)) > 0.1


@pytest.mark.parametrize(("columns", "held"), [(EVERY, True), (PAPERS_OWN, False)])
def test_our_tree_predicts_as_scikit_learns(columns: tuple[int, ...], held: bool) -> None:
    """The paper's columns are NaN after the end of a trajectory."""
    from sklearn.tree import DecisionTreeClassifier

    features, labels = table()
    if not held:
        ends = np.random.default_rng(1).integers(5, 30, len(features))
        for row, end in enumerate(ends):
            features[row, [c for c in PAPERS_OWN if c and int(NAMES[c][2:]) > end]] = np.nan
    signs = [SIGNS.get(NAMES[c], 0) for c in columns]
    ours_alone = {"min_samples_leaf": 5, "monotonic_cst": signs} if held else {}
    theirs = DecisionTreeClassifier(max_depth=5, random_state=0, **ours_alone)
    theirs.fit(features[:, columns], labels)
    weights = np.ones(len(labels)) if held else np.where(labels == 1, 3.0, 1.0)  # not the paper's
    ours = Cart(5, columns, held=held).fit(features, labels, weights)
    leaf = theirs.apply(features[:, columns])
    share, odds = theirs.predict_proba(features[:, columns])[:, 1], ours.log_odds(features)
    for number in set(leaf.tolist()):
        rows = leaf == number
        wanted = (share[rows] * rows.sum() + 1) / (rows.sum() + 2) if held else share[rows]
        np.testing.assert_allclose(1 / (1 + np.exp(-odds[rows])), wanted, atol=2e-4)


def test_the_papers_detector_equals_its_grid_search() -> None:
    """scikit-learn's GridSearchCV over XGBClassifier with A.4's grid and the library's defaults."""
    from sklearn.model_selection import GridSearchCV
    from xgboost import XGBClassifier

    features, labels = table(300, seed=4)
    features[:, NAMES.index("s_2")] += labels  # trees gain over a single split
    grid: dict[str, list[float]] = {
        "max_depth": [3, 4], "learning_rate": [0.05, 0.5], "n_estimators": [50],
    }  # fmt: skip
    theirs = GridSearchCV(XGBClassifier(random_state=0, n_jobs=1), grid, scoring="roc_auc", cv=3)
    theirs.fit(features[:, PAPERS_OWN], labels)
    with pytest.MonkeyPatch.context() as patched:
        use_grid(
            patched, DEPTHS=tuple(grid["max_depth"]), RATES=tuple(grid["learning_rate"]),
            TREES=tuple(grid["n_estimators"]), CART_DEPTHS=(1,),
        )  # fmt: skip
        folds, weights = fold_of(range(300)), np.where(labels == 1, 3.0, 1.0)
        chosen = choose(features, labels, weights, folds, detector="paper")
    assert chosen.auc == pytest.approx(theirs.best_score_, abs=1e-6)
    assert chosen.auc_of.keys() == {"s_0 alone", "cart", "xgboost"}
    ours = chosen.model.fit(features, labels, weights)
    wanted = theirs.best_estimator_.predict_proba(features[:, PAPERS_OWN])[:, 1]
    np.testing.assert_allclose(1 / (1 + np.exp(-ours.log_odds(features))), wanted, atol=1e-5)


@pytest.mark.usefixtures("small_grid")
def test_the_chosen_model_beats_s_0_if_there_is_more_to_learn() -> None:
    features, labels = table(600)
    folds = fold_of(list(range(len(labels))))
    weights = np.ones(len(labels))
    chosen = choose(features, labels, weights, folds)
    # The nine signs are kept where others lead by less than a quarter of a standard error.
    assert chosen.auc >= max(chosen.auc_of.values()) - 0.005
    assert chosen.auc > chosen.auc_of["s_0 alone"] + 0.02
    assert set(chosen.auc_of) == {"s_0 alone", "nine signs", "cart", "xgboost"}


@pytest.mark.usefixtures("small_grid")
def test_few_pairs_are_tried_with_trees_too() -> None:
    injected = choose(*table(100), np.ones(100), fold_of(list(range(100))))
    assert "cart" in injected.auc_of


def test_a_model_never_reverses_a_known_sign() -> None:
    """A column of known sign, trained on labels that contradict it, is not used against it."""
    features, _ = table(400)
    column = NAMES.index("largest deletion gain")
    labels = (features[:, column] < 0).astype(np.int64)
    for model in (BoostedTrees(3, 0.1, 50, THEORY), Cart(5, THEORY)):
        fitted = model.fit(features, labels, np.ones(400))
        raised = features.copy()
        raised[:, column] += 1
        assert (fitted.log_odds(raised) >= fitted.log_odds(features) - 1e-6).all()


@pytest.mark.usefixtures("small_grid")
def test_out_of_fold_log_odds_come_from_models_that_have_not_seen_the_row() -> None:
    """Random labels: a model can only memorise the rows that it was fitted to."""
    rng = np.random.default_rng(1)
    features = rng.normal(size=(300, len(NAMES)))
    labels = rng.integers(0, 2, 300)
    chosen = choose(features, labels, np.ones(300), fold_of(list(range(300))))
    assert chosen.auc < 0.65
    fitted = chosen.model.fit(features, labels, np.ones(300))
    assert np.abs(fitted.log_odds(features) - chosen.out_of_fold).max() > 0.01


def test_labels_of_one_class_are_refused() -> None:
    features, _ = table(60)
    with pytest.raises(TrainingError, match="too few examples"):
        choose(features, np.zeros(60, np.int64), np.ones(60), fold_of(list(range(60))))


def test_folds_never_split_a_group() -> None:
    groups = [i // 5 for i in range(200)]
    folds = fold_of(groups)
    assert set(folds.tolist()) == {0, 1, 2}
    assert all(len({int(f) for f in folds[i : i + 5]}) == 1 for i in range(0, 200, 5))


def test_calibrated_probabilities_match_frequencies() -> None:
    rng = np.random.default_rng(2)
    odds = rng.normal(0, 3, 4000)
    labels = (rng.random(4000) < 1 / (1 + np.exp(-(0.5 * odds - 1)))).astype(np.int64)
    p = calibrate(odds, labels, np.ones(4000))(odds)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.0)):
        rows = (p >= low) & (p < high)
        assert p[rows].mean() == pytest.approx(labels[rows].mean(), abs=0.05)


def test_a_classifier_stored_with_fewer_features_can_still_be_read() -> None:
    features, labels = table()
    before = Classifier(S_0.fit(features, labels, np.ones(len(labels))), Calibration())
    stored = json.loads(before.to_bytes())
    stored["features"] = stored["features"][: len(SUMMARY)]
    after = Classifier.from_bytes(json.dumps(stored).encode())
    np.testing.assert_array_equal(after.predict(features), before.predict(features))
    stored["features"] = ["s_0", "something else"]
    with pytest.raises(TrainingError, match="another version"):
        Classifier.from_bytes(json.dumps(stored).encode())


def test_a_classifier_stored_by_an_earlier_version_predicts_the_same() -> None:
    """Written by version 0.1.0, in which the columns of the auxiliary score had other names."""
    payload = Path(__file__).with_name("classifier_0.1.0.json").read_bytes()
    assert "second opinion: s_0" in json.loads(payload)["features"]
    gains = np.array([0.1, 0.3, 0.0], np.float32)
    auxiliary = AuxiliaryScores(np.array([0.1, 0.4, 0.2, 0.0], np.float32), gains)
    low = replace(trajectory("a red dog", [0.0, -0.3, 0.2], start=0.4), auxiliary=auxiliary)
    high = replace(trajectory("a red dog", [0.1, 0.1, 0.1], start=0.9), auxiliary=auxiliary)
    p_error = Classifier.from_bytes(payload).predict(feature_matrix([low, high]))
    np.testing.assert_allclose(p_error, [0.8778504535589237, 0.3318486066060376], rtol=1e-6)
    again = json.loads(Classifier.from_bytes(payload).to_bytes())
    assert tuple(again["features"]) == NAMES


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize("detector", [name for name in DETECTORS if name != "best"])
def test_a_detector_can_be_chosen_by_name(detector: str) -> None:
    features, labels = table(200)
    weights = np.ones(len(labels))
    folds = fold_of(range(len(labels)))
    chosen = choose(features, labels, weights, folds, detector=detector)
    if detector == "paper":
        assert chosen.model.kind in ("xgboost", "cart")
        assert chosen.model.columns == PAPERS_OWN  # pyrefly: ignore[missing-attribute]
        assert not chosen.model.held  # pyrefly: ignore[missing-attribute]
    else:
        assert chosen.model.kind == detector
    with pytest.raises(SettingsError, match="no detector"):
        choose(features, labels, weights, folds, detector="oracle")


def test_a_first_step_classifier_reads_only_first_steps() -> None:
    world = World(80, 0.4, seed=3)
    score = cache(lambda requests: world.score(requests))  # `World.score` adds random noise

    def copies(requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        return score(tuple(requests))

    made = cold_start(world.captions, world.trajectories, copies, whole=False)
    assert made.classifier.first_step
    assert not made.classifier.needs_steps
    assert made.report["detector"] == "eight signs"
    stored = Classifier.from_bytes(made.classifier.to_bytes())
    assert stored.first_step
    assert roc_auc_score(world.wrong, made.p_error) > 0.8
    read = [stored.read(trajectory) for trajectory in world.trajectories]
    assert {trajectory.steps for trajectory in read} == {1}
    first = [trajectory.first_step() for trajectory in world.trajectories]
    again = cold_start(world.captions, first, copies, whole=False)
    np.testing.assert_allclose(again.p_error, made.p_error)
    np.testing.assert_array_equal(
        stored.predict(feature_matrix(read)), stored.predict(feature_matrix(first))
    )


def test_a_detector_that_needs_later_steps_is_refused_without_them() -> None:
    assert detector_for("best", True) == "best"
    assert detector_for("s_0 alone", False) == "s_0 alone"
    with pytest.raises(SettingsError, match="'xgboost' needs whole trajectories"):
        detector_for("xgboost", False)


def test_a_classifier_stored_without_first_step_needs_whole_trajectories() -> None:
    payload = json.loads(Classifier(Linear("logistic", EVERY), Calibration()).to_bytes())
    del payload["first_step"]
    assert Classifier.from_bytes(json.dumps(payload).encode()).needs_steps


@pytest.mark.parametrize(
    "model",
    [{"kind": "ensemble", "members": []}, {"kind": "xgboost", "stacked": True, "booster": {}}],
    ids=["ensemble", "stacked"],
)
def test_a_kind_that_is_gone_is_refused_with_what_to_do(model: dict[str, object]) -> None:
    payload = json.loads(Classifier(S_0, Calibration()).to_bytes())
    with pytest.raises(TrainingError) as refusal:
        Classifier.from_bytes(json.dumps(payload | {"model": model}).encode())
    assert "score DATASET --detector best" in refusal.value.remedies["terminal"]
