"""`evaluate regions`: questions about drawn scenes whose truth is known, and their figures."""

import random

from backend.settings import MODELS
from research.evaluation.pointing import KINDS, evaluate_pointing, markdown, questions_of
from research.scenes import phrasing
from research.scenes.renderer import render_with_regions
from research.scenes.world import COLOURS, make_scene


def test_questions_name_words_of_their_kind_and_the_boxes_of_their_thing() -> None:
    kinds, rng = set(), random.Random(59)
    for _ in range(30):
        scene = make_scene(rng)
        _, regions = render_with_regions(scene, 96)
        for question in questions_of(scene, regions, rng):
            kinds.add(question.kind)
            word = question.caption.words[question.word].lower()
            boxes = set(question.boxes)
            things = {
                scene.things[region.thing].noun: scene.things[region.thing]
                for region in regions
                if region.box in boxes
            }
            if question.kind == "absent noun":
                assert scene.find(phrasing.NOUN_OF[word]) is None
                assert not things
            elif "noun" in question.kind:
                assert (phrasing.NOUN_OF[word] in things) == (question.kind == "noun")
            elif "colour" in question.kind:
                assert word in COLOURS
                (thing,) = things.values()
                assert (thing.colour == word) == (question.kind == "colour")
            elif "relation" in question.kind:
                assert len(things) == 2
            elif question.is_around:
                assert len(things) == len(scene.things)
                assert question.cover().mean() > 0.5
            else:
                assert len(things) == 1
    assert kinds == set(KINDS)


def test_figures_of_each_scorer_and_kind_stand_in_a_table() -> None:
    report = evaluate_pointing(3, 2, 0, [MODELS], ["blip-itm"])
    assert {result.seed for result in report.results} == {0, 1}
    assert all(0 <= result.hits <= 1 for result in report.results)
    lines = markdown(report).splitlines()
    assert len(lines) == 2 + len({result.kind for result in report.results})
    assert all("±" in line for line in lines[2:4])
