"""Corrections are compared with the truth: restored, true, or harmful."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.correction.suggestion import Suggestion
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.features import feature_matrix
from backend.engine.scoring.loading import load_scorer
from backend.engine.trajectories.exploring import Exploring
from backend.features.corrections.corrector import Corrector
from backend.features.vision_language.endpoint import ChatEndpoint
from backend.settings import MODELS
from research.chat_server import chat_server
from research.evaluation.corrections import ANY, FIRST, _judge, correction_quality, harm
from research.evaluation.labelled import LabelledPairs, from_scenes
from research.evaluation.result_figures import judge, test_half
from research.evaluation.scored import trajectories_of


def offered(caption: str) -> Suggestion:
    return Suggestion(caption, "somebody", 0.2, 0.5, 0.9, 0.3)


@pytest.fixture(scope="module")
def pairs() -> LabelledPairs:
    return from_scenes(40, "fine-grained", 3)


def test_only_the_original_counts_as_restored(pairs: LabelledPairs) -> None:
    for row in np.flatnonzero(pairs.wrong).tolist():
        right = _judge(pairs, row, offered(pairs.originals[row].lower()))
        assert (right.restored, right.true) == (True, True)
        wrong = _judge(pairs, row, offered(pairs.captions[row]))
        assert (wrong.restored, wrong.true, wrong.harm) == (False, False, 0.0)
        assert wrong.change == pytest.approx(-0.6)


def test_harm_counts_right_words_that_were_removed() -> None:
    before = "A red dog on a beach"
    assert harm(before, frozenset({1}), "A brown dog on a beach") == 0
    assert harm(before, frozenset({1}), "An orange dog on a beach") == 0
    assert harm(before, frozenset({1}), "Two cats") == pytest.approx(3 / 5)
    assert harm(before, frozenset(range(6)), "Two cats") == 0


def test_correction_quality_with_the_embedded_models(pairs: LabelledPairs, tmp_path: Path) -> None:
    scorer = load_scorer(str(MODELS / "scenes-blip-itm"), "blip-itm", "cpu")
    captioner = load_captioner(str(MODELS / "scenes-blip-captioner"))
    trajectories = trajectories_of(tmp_path, {}, scorer, Exploring(), pairs)
    test = test_half(pairs, 0)
    features = feature_matrix(trajectories)
    judged = judge(features, pairs.captions, pairs.wrong, pairs.groups, test, 0, "logistic")
    classifier: Classifier = judged.classifier
    rows = np.flatnonzero(test & pairs.wrong)[:4].tolist()

    def knowing(body: dict[str, Any]) -> tuple[int, str]:
        """A model that returns every caption's original."""
        text = body["messages"][1]["content"][1]["text"]
        place = next(row for row in rows if f"<caption>{pairs.captions[row]}</caption>" in text)
        return 200, json.dumps({"caption": pairs.originals[place]})

    with chat_server(knowing) as served:
        corrector = Corrector(ChatEndpoint(served.url, "vlm"), "trajectory")
        figures = correction_quality(
            scorer, captioner, pairs, trajectories, rows,
            lambda some: classifier.predict(feature_matrix(some)).tolist(), Exploring(),
            [corrector],
        )  # fmt: skip
    assert {"guided infill", "described anew", FIRST, ANY, corrector.proposer} <= figures.keys()
    of_corrector = figures.pop(corrector.proposer)
    assert (of_corrector.offered, of_corrector.restored_of_all) == (1.0, 1.0)
    assert of_corrector.harm < 0.1
    for quality in figures.values():
        assert 0 < quality.offered <= 1
        assert quality.true is not None
        assert 0 <= quality.restored_of_all <= quality.restored <= quality.true <= 1
        assert quality.rise_of_s > 0
        assert quality.change_of_p is not None
    assert figures[ANY].restored >= figures[FIRST].restored
