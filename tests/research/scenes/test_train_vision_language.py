"""The training of the drawn world's vision-language model: it learns, resumes and can be used."""

from pathlib import Path

import numpy as np
import pytest

from backend.engine.scoring.loading import load_scorer
from research.scenes import train_vision_language
from research.scenes.train_vision_language import QuestionRecipe, QuestionTraining
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import drawn_pairs

RECIPE = QuestionRecipe(steps=6, batch=4, learning_rate=3e-3, warm_up=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_vision_language_model(tmp_path_factory.mktemp("vlm"), width=48, layers=1)


def test_an_interrupted_training_continues_as_if_it_had_not_been(folder: Path) -> None:
    whole = list(QuestionTraining(folder, RECIPE).steps())
    interrupted = QuestionTraining(folder, RECIPE)
    begun = list(interrupted.steps(3))
    resumed = QuestionTraining(folder, RECIPE)
    resumed.restore(interrupted.state())
    again = [*begun, *resumed.steps()]
    assert [losses.step for losses in again] == [1, 2, 3, 4, 5, 6]
    for expected, losses in zip(whole, again, strict=True):
        assert (losses.answer, losses.description) == pytest.approx(
            (expected.answer, expected.description), abs=1e-4
        )
    assert whole[-1].description < whole[0].description


def test_the_command_writes_a_model_that_scores_and_resumes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [str(tmp_path), "--steps", "2", "--batch", "2", "--width", "48", "--layers", "1"]
    train_vision_language.main(command)
    assert "answer" in capsys.readouterr().out
    scorer = load_scorer(f"vqa:{tmp_path / 'model'}", None, "cpu")
    image, caption = drawn_pairs(1)[0]
    (scores,) = scorer.score([(scorer.encode_images([image])[0], [caption, "A cat."])])
    assert np.ptp(scores) > 0
    train_vision_language.main(command)  # nothing is left to train
    assert "answer" not in capsys.readouterr().out
