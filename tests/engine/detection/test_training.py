"""Cold start, on captions with known errors."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from backend.engine.detection.cold_start import TrainedDetector, cold_start, drawn_by_image
from backend.engine.detection.families import NineSigns
from backend.engine.detection.features import feature_matrix
from backend.engine.detection.localisation import suspect_words, word_scores
from backend.engine.trajectories.trajectory import Trajectory
from tests.engine.detection.conftest import SMALL
from tests.engine.detection.made_trajectories import World, trajectory
from tests.fixtures.small_cold_start import use_grid


@pytest.fixture(scope="module")
def world() -> World:
    return World(240, wrong_share=0.3)


@pytest.fixture(scope="module")
def cold(world: World) -> TrainedDetector:
    with pytest.MonkeyPatch.context() as patched:
        use_grid(patched, **SMALL)
        return cold_start(world.captions, world.trajectories, world.score)


def test_without_labels_errors_are_found_better_than_by_s_0(
    world: World, cold: TrainedDetector
) -> None:
    result = cold
    s_0 = np.array([t.scores[0] for t in world.trajectories])
    by_s_0 = roc_auc_score(world.wrong, -s_0)
    by_detector = roc_auc_score(world.wrong, result.p_error)
    assert by_detector > by_s_0 + 0.03
    assert result.report["noisy_copies"] > 240
    assert result.p_error.min() >= 0
    assert result.p_error.max() <= 1


def test_no_pair_is_judged_by_a_classifier_that_has_seen_its_image(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three pairs per image; half of the images are drawn for training."""
    world = World(90, wrong_share=0.3, seed=3)
    groups = [i // 3 for i in range(90)]
    features = feature_matrix(world.trajectories)
    image_of = {row.tobytes(): group for row, group in zip(features, groups, strict=True)}
    models: list[tuple[set[int], NineSigns]] = []  # the images that each model has seen

    def score(requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        made = world.score(requests)
        for row, (owner, _) in zip(feature_matrix(made), requests, strict=True):
            image_of[row.tobytes()] = groups[owner]
        return made

    def fit(self: NineSigns, rows: np.ndarray, *rest: np.ndarray) -> NineSigns:
        model = fitted(self, rows, *rest)
        models.append(({image_of[row.tobytes()] for row in rows}, model))
        return model

    fitted = NineSigns.fit
    monkeypatch.setattr(NineSigns, "fit", fit)
    result = cold_start(
        world.captions, world.trajectories, score, groups=groups, maximum_pairs=45,
        detector="nine signs",
    )  # fmt: skip
    classifier = result.classifier
    assert result.report["trained_on_pairs"] == 45
    assert isinstance(classifier.model, NineSigns)
    for row in range(90):
        odds = [
            replace(model, share=classifier.model.share).log_odds(features[row : row + 1])[0]
            for images, model in models
            if groups[row] not in images
        ]
        possible = classifier.calibration(np.array(odds))
        assert np.isclose(possible, result.p_error[row], atol=1e-9).any()


def test_training_pairs_are_drawn_by_image() -> None:
    groups = [i // 5 for i in range(100)]
    drawn = drawn_by_image(groups, 42, seed=1)
    assert len(drawn) == 40
    others = set(range(100)) - set(drawn)
    assert not {groups[row] for row in drawn} & {groups[row] for row in others}
    assert drawn != drawn_by_image(groups, 42, seed=2)
    assert drawn_by_image([0] * 9, 4, seed=0) == [0, 1, 2, 3]  # one image has more than that
    assert drawn_by_image([], 4, seed=0) == []


def test_a_handful_of_pairs_is_ranked_by_s_0_with_a_note() -> None:
    world = World(6, wrong_share=0.5)
    result = cold_start(world.captions, world.trajectories, world.score)
    s_0 = np.array([t.scores[0] for t in world.trajectories])
    assert np.argsort(result.p_error).tolist() == np.argsort(-s_0).tolist()
    assert "s_0 alone" in result.report["basis_note"]
    assert len(cold_start([], [], world.score).p_error) == 0


def test_captions_that_allow_no_noise_are_ranked_by_s_0() -> None:
    made = [trajectory("zzz", [0.1], 0.01 * i) for i in range(30)]
    result = cold_start(["zzz"] * 30, made, lambda requests: [])
    assert "noise" in result.report["basis_note"]
    assert result.p_error[0] > result.p_error[-1]


def test_the_wrong_word_is_the_most_suspect() -> None:
    walked = trajectory("a red dog in the park", [0.0, -0.4, 0.2, 0.0, 0.0, 0.1], 0.3)
    scores = word_scores(walked)
    assert scores.argmax() == 1
    assert scores[1] == pytest.approx(1.0)
    assert scores[2] == scores[5] == 0
    spans = [walked.caption.text[s.start : s.end] for s in suspect_words(walked)]
    assert spans == ["a", "red", "dog", "in", "the", "park"]
    # A small probability of error lowers the suspicion.
    assert suspect_words(walked, 0.07)[1].score == pytest.approx(0.1)
    assert suspect_words(walked, 0.9)[1].score == suspect_words(walked)[1].score


def test_function_words_are_a_fifth_as_suspect_and_right_words_not_at_all() -> None:
    scores = word_scores(trajectory("A red dog", [-0.4, 0.2, 0.1], 0.3))
    assert scores.tolist() == pytest.approx([0.2, 0, 0])
    assert not word_scores(trajectory("a red dog", [0.1, 0.2, 0.3], 0.9)).any()
