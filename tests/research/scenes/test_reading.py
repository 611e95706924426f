"""Parsing a caption with the grammar returns the claims that it was generated from."""

import random
from dataclasses import replace

import pytest

from research.evaluation.labelled import from_scenes
from research.scenes.caption_reading import claims_of
from research.scenes.grammar import describe
from research.scenes.noise import fine_grained
from research.scenes.renderer import render
from research.scenes.truth import claims, facts
from research.scenes.world import COLOURS_OF, make_scene


@pytest.mark.parametrize("unfamiliar", [False, True])
def test_every_caption_is_parsed_to_its_own_claims(unfamiliar: bool) -> None:
    rng = random.Random(3)
    for _ in range(400):
        scene = make_scene(rng, unfamiliar)
        message = describe(scene, rng)
        assert claims_of(message.text) == claims(message)
        assert claims(message) <= facts(scene)
        false = fine_grained(message, scene, rng)
        if false is not None:
            result = claims_of(false.description.text)
            assert result == claims(false.description)
            assert result is not None
            assert not result <= facts(scene)


@pytest.mark.parametrize("text", ["", "A zebra in a park.", "Dog dog dog", "In the park.", "A"])
def test_text_outside_the_grammar_is_not_parsed(text: str) -> None:
    assert claims_of(text) is None


def test_fragments_of_a_caption_claim_less() -> None:
    message = {"dog", "dog/brown", "dog/running", "in park"}
    assert claims_of("Brown dog running in park") == message
    assert claims_of("A brown dog running in a park") == message | {"dog*1"}
    assert claims_of("Brown running in park") is None


def test_unfamiliar_scenes_have_unusual_colours_and_shades() -> None:
    pairs = from_scenes(60, "fine-grained", 0, unfamiliar=True)
    things = [thing for scene in pairs.scenes for thing in scene.things]
    limited = [thing for thing in things if thing.noun in COLOURS_OF and thing.noun != "pizza"]
    assert limited
    assert all(thing.colour not in COLOURS_OF[thing.noun] for thing in limited)
    scene = pairs.scenes[0]
    usual = replace(scene, unfamiliar=False)
    assert render(scene, 48).tobytes() != render(usual, 48).tobytes()


@pytest.mark.parametrize("unfamiliar", [False, True])
def test_half_of_the_captions_are_wrong_and_labelled_so(unfamiliar: bool) -> None:
    pairs = from_scenes(80, "fine-grained", 1, unfamiliar)
    for scene, caption, original, wrong in zip(
        pairs.scenes, pairs.captions, pairs.originals, pairs.wrong, strict=True
    ):
        message = claims_of(caption)
        assert message is not None
        assert (message <= facts(scene)) != wrong
        assert (caption != original) == wrong
    assert 36 <= pairs.wrong.sum() <= 40
