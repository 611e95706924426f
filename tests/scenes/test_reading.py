"""The grammar read backwards claims what the caption was made to claim."""

import random

import pytest

from backend.scenes.grammar import describe
from backend.scenes.labelled import labelled_scenes
from backend.scenes.noise import fine_grained
from backend.scenes.reading import claims_of
from backend.scenes.renderer import render
from backend.scenes.truth import claims, facts
from backend.scenes.world import COLOURS_OF, make_scene, scene_from_json, scene_to_json


@pytest.mark.parametrize("unfamiliar", [False, True])
def test_every_caption_is_read_as_it_was_meant(unfamiliar: bool) -> None:
    lot = random.Random(3)
    for _ in range(400):
        scene = make_scene(lot, unfamiliar)
        told = describe(scene, lot)
        assert claims_of(told.text) == claims(told)
        assert claims(told) <= facts(scene)
        false = fine_grained(told, scene, lot)
        if false is not None:
            found = claims_of(false.description.text)
            assert found == claims(false.description)
            assert not found <= facts(scene)


@pytest.mark.parametrize("text", ["", "A zebra in a park.", "Dog dog dog", "In the park.", "A"])
def test_what_the_world_does_not_say_is_not_read(text: str) -> None:
    assert claims_of(text) is None


def test_leftovers_of_a_trajectory_claim_less() -> None:
    told = {"dog", "dog/brown", "dog/running", "in park"}
    assert claims_of("Brown dog running in park") == told
    assert claims_of("A brown dog running in a park") == told | {"dog*1"}
    assert claims_of("Brown running in park") is None


def test_the_unfamiliar_world_is_unfamiliar() -> None:
    pairs = labelled_scenes(60, "fine-grained", 0, unfamiliar=True)
    things = [thing for scene in pairs.scenes for thing in scene.things]
    limited = [thing for thing in things if thing.noun in COLOURS_OF and thing.noun != "pizza"]
    assert limited
    assert all(thing.colour not in COLOURS_OF[thing.noun] for thing in limited)
    scene = pairs.scenes[0]
    assert scene_from_json(scene_to_json(scene)) == scene
    usual = scene_from_json({**scene_to_json(scene), "unfamiliar": False})
    assert list(render(scene, 48).getdata()) != list(render(usual, 48).getdata())
    old = scene_to_json(usual)
    del old["unfamiliar"]  # as scenes were written before there were two worlds
    assert scene_from_json(old) == usual


@pytest.mark.parametrize("unfamiliar", [False, True])
def test_half_of_the_captions_are_wrong_and_say_so(unfamiliar: bool) -> None:
    pairs = labelled_scenes(80, "fine-grained", 1, unfamiliar)
    for scene, caption, original, wrong in zip(
        pairs.scenes, pairs.captions, pairs.originals, pairs.wrong, strict=True
    ):
        told = claims_of(caption)
        assert told is not None
        assert (told <= facts(scene)) != wrong
        assert (caption != original) == wrong
    assert 36 <= pairs.wrong.sum() <= 40
