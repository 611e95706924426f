"""At the published sizes (ViT-B/16 at 384 with BERT base, ViT-B/32), with random weights."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from backend.engine.captions import Caption
from backend.engine.scoring.blip import BlipScorer
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.protocol import ImageState
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from research.bench.caption_lengths import make_captions
from research.bench.measure_scoring import encode
from research.bench.random_models import random_pixels, random_scorer
from research.bench.reference import ReferenceSession
from tests.engine.trajectories.comparison import assert_same_trajectory

pytestmark = pytest.mark.nightly


def run_once_for_each_picture(tower: Any) -> None:
    """ITM and ITC see the same pictures with the same image tower, which takes most of the time."""
    see, seen = tower.forward, {}

    def forward(pixel_values: torch.Tensor) -> Any:
        pixels = pixel_values.numpy().tobytes()
        if pixels not in seen:
            seen[pixels] = see(pixel_values=pixel_values)
        return seen[pixels]

    tower.forward = forward


@pytest.fixture(scope="module")
def blip() -> BlipScorer:
    made = random_scorer("blip-itm")
    assert isinstance(made, BlipScorer)
    run_once_for_each_picture(made.model.vision_model)
    return made


@pytest.fixture(scope="module", params=["blip-itm", "blip-itc", "clip"])
def scorer(request: pytest.FixtureRequest, blip: BlipScorer) -> DualEncoder:
    if request.param == "clip":
        return random_scorer("clip")
    return replace(blip, info=replace(blip.info, kind=request.param))


@pytest.fixture(scope="module")
def pairs(scorer: DualEncoder) -> list[tuple[ImageState, Caption]]:
    """Two pairs, the images already encoded."""
    states = encode(scorer, random_pixels(scorer, 2))
    captions = [Caption.parse(text) for text in make_captions(2, (2, 3))]
    return list(zip(states, captions, strict=True))


def test_fast_and_reference_sessions_give_the_same_trajectory(
    scorer: DualEncoder, pairs: list[tuple[ImageState, Caption]]
) -> None:
    for exploring in [
        Exploring(),
        Exploring("fast-gcd", steps=1, top=3),
        Exploring("gcd", steps=1, candidates=3),
    ]:
        plain = ReferenceSession(scorer)  # pyrefly: ignore[bad-argument-type]
        slow = dict(run_trajectories(scorer, pairs, exploring, session=plain))
        fast = dict(run_trajectories(scorer, pairs, exploring))
        for index in range(2):
            assert_same_trajectory(fast[index], slow[index])
