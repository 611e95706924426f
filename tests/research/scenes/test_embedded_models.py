"""The models in assets: good enough for the demo, measured on unseen scenes."""

import random
from functools import cache

import pytest
from PIL import Image
from sklearn.metrics import roc_auc_score

from backend.engine.captions import Caption
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.scoring.loading import load_scorer
from backend.settings import MODELS
from research.evaluation.labelled import DIRECTORIES, LabelledPairs, from_scenes
from research.scenes.architecture import TOKENS
from research.scenes.grammar import describe
from research.scenes.renderer import render
from research.scenes.world import NOUNS, make_scene

#: Lowest accepted AUC of s_0 on 80 held-out pairs, well below the measured ones.
FLOORS = {
    "blip-itm": {"random": 0.95, "noun": 0.88, "fine-grained": 0.70},
    "blip-itc": {"random": 0.95, "noun": 0.85, "fine-grained": 0.62},
    "clip": {"random": 0.95, "noun": 0.88, "fine-grained": 0.62},
}


@cache
def held_out(noise: str) -> tuple[LabelledPairs, list[Image.Image]]:
    pairs = from_scenes(80, noise, seed=90)
    return pairs, [pairs.picture(row) for row in range(80)]


@pytest.mark.parametrize("kind", sorted(DIRECTORIES))
def test_scores_separate_right_from_wrong_captions(kind: str) -> None:
    scorer = load_scorer(str(MODELS / DIRECTORIES[kind]), kind, "cpu")
    for noise, floor in FLOORS[kind].items():
        pairs, pictures = held_out(noise)
        states = scorer.encode_images(pictures)
        scores = scorer.score([(s, [c]) for s, c in zip(states, pairs.captions, strict=True)])
        auc = roc_auc_score(pairs.wrong, [-float(score[0]) for score in scores])
        assert auc > floor, (kind, noise, auc)


def test_the_captioner_names_things_in_the_picture() -> None:
    captioner = load_captioner(str(MODELS / "scenes-blip-captioner"))
    rng = random.Random(91)
    named = 0
    for _ in range(20):
        scene = make_scene(rng)
        words = Caption.parse(captioner.describe(render(scene, 192)).lower()).words
        nouns = {thing.noun for thing in scene.things}
        message = {noun for noun in NOUNS if noun in words or noun + "s" in words}
        named += bool(message & nouns)
    assert named >= 14


def test_a_true_caption_is_likelier_than_that_of_another_scene() -> None:
    captioner = load_captioner(str(MODELS / "scenes-blip-captioner"))
    rng = random.Random(92)
    scenes = [make_scene(rng) for _ in range(24)]
    captions = [describe(scene, rng).text for scene in scenes]
    right = 0
    for i, scene in enumerate(scenes):
        memory = captioner.see(render(scene, 192))
        its_own, other = captioner.log_likelihoods(memory, [captions[i], captions[i - 1]])
        lengths = [len(Caption.parse(captions[k])) + 2 for k in (i, i - 1)]
        right += its_own / lengths[0] > other / lengths[1]
    assert right >= 20


def test_the_tokenizer_in_assets_matches_the_worlds_vocabulary() -> None:
    from transformers import AutoTokenizer

    for name in DIRECTORIES.values():
        tokenizer = AutoTokenizer.from_pretrained(MODELS / name)
        assert tokenizer.convert_tokens_to_ids(list(TOKENS)) == list(range(len(TOKENS)))  # pyrefly: ignore[missing-attribute]
