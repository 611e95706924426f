"""Guided infill and descriptions, with a captioner of random weights in Hugging Face format."""

from collections.abc import Callable
from pathlib import Path

import pytest

from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.correction.guided_infill import propose
from backend.engine.correction.judge import SMALLEST_GAIN, suggest_all
from backend.engine.correction.proposing import propose_all
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.localisation import suspect_words
from backend.engine.scoring.loading import load_scorer
from backend.engine.scoring.protocol import Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.errors import ModelMismatch
from tests.checkpoints import (
    drawn_pairs,
    random_blip,
    random_captioner,
    random_clip,
    random_clipcap,
)


@pytest.fixture(scope="module", params=[random_captioner, random_clipcap])
def captioner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Captioner:
    make: Callable[[Path], Path] = request.param
    return load_captioner(str(make(tmp_path_factory.mktemp("captioner"))))


@pytest.fixture(scope="module")
def scorer(tmp_path_factory: pytest.TempPathFactory) -> Scorer:
    return load_scorer(str(random_blip(tmp_path_factory.mktemp("scorer"))), device="cpu")


def case_of(scorer: Scorer, seed: int) -> CorrectionContext:
    image, text = drawn_pairs(1, seed=seed)[0]
    state = scorer.encode_images([image])[0]
    ((_, trajectory),) = run_trajectories(scorer, [(state, Caption.parse(text))])
    return CorrectionContext(image, state, trajectory, suspect_words(trajectory))


def test_only_suspect_words_are_refilled(scorer: Scorer, captioner: Captioner) -> None:
    refilled = 0
    for seed in range(2):
        context = case_of(scorer, seed)
        positions = set(context.suspect_positions(3))
        before = context.caption.words
        decoding = captioner.decoding([captioner.see(context.image)])
        for caption in propose_all(decoding, [(0, propose(context))])[0]:
            refilled += 1
            after = Caption.parse(caption).words
            assert len(after) == len(before)
            differing = {i for i, (a, b) in enumerate(zip(before, after, strict=True)) if a != b}
            articles = {i for i in differing if after[i].lower() in ("a", "an")}
            assert differing - articles <= positions
            assert differing
    assert refilled


def test_suggestions_improve_the_score_and_are_ranked(scorer: Scorer, captioner: Captioner) -> None:
    for seed in range(2):
        context = case_of(scorer, seed)
        (suggestions,) = suggest_all(scorer, [context], captioner, lambda ts: [0.5] * len(ts))
        assert len(suggestions) <= 3
        for suggestion in suggestions:
            assert suggestion.s_after > suggestion.s_before + SMALLEST_GAIN
            assert suggestion.s_after == pytest.approx(
                float(scorer.score([(context.state, [suggestion.caption])])[0][0]), abs=1e-4
            )
            assert suggestion.p_after == 0.5


def test_models_that_are_not_captioners_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelMismatch, match="not a BLIP captioner"):
        load_captioner(str(random_clip(tmp_path)))
    with pytest.raises(ModelMismatch, match="no caption decoder"):
        load_captioner(str(random_blip(tmp_path)))
