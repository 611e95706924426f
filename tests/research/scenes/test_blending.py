"""Rule-based answers in place of a language model: they repeat the input, and invent on request."""

import random

import pytest

from research.scenes import blending
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import describe
from research.scenes.truth import claims, facts
from research.scenes.world import make_scene


def test_descriptions_are_parsed_back_to_the_same_claims() -> None:
    rng = random.Random(1)
    for _ in range(200):
        description = describe(make_scene(rng), rng)
        parsed = blending.description_of(description.text)
        assert parsed is not None
        assert claims(parsed) == claims(description), description.text


def test_a_blend_keeps_the_first_caption_and_adds_no_new_claim() -> None:
    rng = random.Random(2)
    longer = 0
    for _ in range(100):
        scene = make_scene(rng)
        captions = [describe(scene, rng).text for _ in range(5)]
        claims_by_caption = [claims_of(text) or frozenset() for text in captions]
        blend = claims_of(blending.blend(captions))
        assert blend is not None
        assert claims_by_caption[0] <= blend <= frozenset().union(*claims_by_caption)
        longer += len(blend) > len(claims_by_caption[0])
    assert longer > 50


@pytest.mark.parametrize(
    ("trusted", "other", "both"),
    [
        ("A red car.", "A blue car in a park.", "A red car in a park."),
        ("A man by a lake.", "A dog in a park.", "A man and a dog by a lake."),
        ("A dog without a cat.", "A dog and a cat.", "A dog without a cat."),
        ("Something unread.", "A dog.", "Something unread."),
    ],
)
def test_the_trusted_caption_wins_if_the_two_differ(trusted: str, other: str, both: str) -> None:
    assert blending.holistic(trusted, other) == both


def test_invented_claims_are_false_and_occur_at_the_requested_rate() -> None:
    rng = random.Random(3)
    false = {0.0: 0, 0.3: 0}
    for rate in false:
        for _ in range(200):
            scene = make_scene(rng)
            claimed = claims_of(blending.visual(scene, rng, rate).text)
            assert claimed is not None
            false[rate] += not claimed <= facts(scene)
    assert false[0.0] == 0
    assert 25 < false[0.3] < 85  # 1 - 0.9 ** 3 of 200 is 54
