"""What a captioner expects: computed with any kind of captioner, per word and per caption."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.expectation import (
    LOWEST,
    Expectation,
    TokenReading,
    expectation_of,
    expectations,
)
from backend.engine.trajectories.word_expectations import with_expectations, with_expectations_of
from backend.errors import ModelMismatch
from backend.features.captioners.vision_to_text import VisionToText
from tests.checkpoints import drawn_pairs, random_captioner, random_vision_to_text
from tests.engine.detection.made_trajectories import trajectory


@pytest.fixture(scope="module", params=["blip", "vision-to-text"])
def captioner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Captioner:
    make = {"blip": random_captioner, "vision-to-text": random_vision_to_text}[request.param]
    loaded = load_captioner(str(make(tmp_path_factory.mktemp("captioner"))))
    assert isinstance(loaded, VisionToText) is (request.param == "vision-to-text")
    return loaded


def test_word_log_probabilities_sum_to_that_of_the_caption(captioner: Captioner) -> None:
    """Without punctuation, the words' log-probabilities sum to the caption's without its end."""
    image = drawn_pairs(1)[0][0]
    for text in ("A dog", "Two red boats by the sea on a sunny day"):
        (expectation,) = expectations(captioner, [(image, text)])
        memory = captioner.see(image)
        (reading,) = captioner.read([memory], [text])
        assert len(expectation.log_p) == len(Caption.parse(text))
        np.testing.assert_allclose(expectation.log_p.sum(), reading.log_p.sum(), rtol=1e-4)
        (whole,) = captioner.log_likelihoods(memory, [text])
        assert whole < expectation.log_p.sum() < 0, "the end of the caption has its own probability"
        assert (expectation.distance >= 0).all()
        for words in expectation.alternatives:
            p = [probability for _, probability in words]
            assert p == sorted(p, reverse=True)
            assert all(word.isalnum() for word, _ in words)
        assert expectation.captioner == captioner.identity != ""


def test_expectations_do_not_depend_on_the_rest_of_the_batch(captioner: Captioner) -> None:
    pairs = drawn_pairs(3, seed=2)
    together = expectations(captioner, pairs)
    for pair, both in zip(pairs, together, strict=True):
        (alone,) = expectations(captioner, [pair])
        np.testing.assert_allclose(both.log_p, alone.log_p, atol=1e-3)
        np.testing.assert_allclose(both.distance, alone.distance, atol=1e-3)


def test_any_text_gets_finite_expectations(captioner: Captioner) -> None:
    for text in ["", "…!", "🙂", "<b>${7*6}</b>", "שלום כלב", "犬が走る", "a " * 400]:
        (expectation,) = expectations(captioner, [(drawn_pairs(1)[0][0], text)])
        assert len(expectation.log_p) <= len(Caption.parse(text))
        assert np.isfinite(expectation.log_p).all()
        assert np.isfinite(expectation.distance).all()
        assert len(expectation.alternatives) == len(expectation.log_p)


def test_a_captioner_without_a_start_token_is_refused(tmp_path: Path) -> None:
    folder = random_vision_to_text(tmp_path / "model", begins=False)
    with pytest.raises(ModelMismatch, match="begin and end"):
        load_captioner(str(folder))


def test_very_low_log_probabilities_are_clipped() -> None:
    reading = TokenReading(
        [(0, 5)], np.array([-900], np.float32), np.array([-0.1], np.float32), [()]
    )
    expectation = expectation_of("zebra", reading)
    assert (expectation.log_p[0], expectation.distance[0]) == (LOWEST, -LOWEST)


def test_only_the_captioner_used_in_training_is_used() -> None:
    expectation = Expectation(
        np.array([-1.0], np.float32), np.array([0.5], np.float32), (), "this one"
    )
    plain = trajectory("dog", [0.1], 0.5)
    both = [plain, replace(plain, expectation=expectation)]
    assert with_expectations_of(both, "this one") == both
    assert [t.expectation for t in with_expectations_of(both, "another")] == [None, None]
    assert with_expectations(None, [drawn_pairs(1)[0][0]], [plain]) == [plain]
