"""The drawn world: descriptions are true, and injected errors are false."""

import random
from collections import Counter

import numpy as np
import pytest

from research.scenes.demo import make_pairs
from research.scenes.grammar import Description, Link, NounPhrase, describe
from research.scenes.noise import KINDS, BalancedNoise, fine_grained, noun_swap, random_swap
from research.scenes.phrasing import FUNCTION_WORDS, vocabulary
from research.scenes.renderer import render, render_with_regions
from research.scenes.truth import claims, every_atom, facts, is_true
from research.scenes.world import (
    Relation,
    Scene,
    Thing,
    make_scene,
)


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    rng = random.Random(4)
    return [make_scene(rng) for _ in range(600)]


DOG = Thing("dog", "brown", "big", 1, "running", 0, "ground")
BALLS = Thing("ball", "red", "normal", 2, None, 1, "ground")
PARK = Scene("park", "snow", (DOG, BALLS), (), 1)
BRANCH = Scene(
    "park", "clear",
    (Thing("cat", "white", "normal", 1, "sleeping", 0, "under"),
     Thing("tree", "green", "normal", 1, None, 0, "canopy")),
    (Relation("under", 0, 1),), 2,
)  # fmt: skip


def message(noun: str, count: int = 1, **more: str) -> NounPhrase:
    return NounPhrase(noun, count, **more)  # pyrefly: ignore[bad-argument-type]


def test_the_truth_of_descriptions() -> None:
    for description, scene, true in (
        (Description((message("dog"),)), PARK, True),
        (Description((message("cat"),)), PARK, False),
        (Description((message("dog", 2),)), PARK, False),
        (Description((message("ball", 2, colour="red"),)), PARK, True),
        (Description((message("ball"),)), PARK, False),
        (Description((message("dog", colour="black"),)), PARK, False),
        (Description((message("dog", size="big"),)), PARK, True),
        (Description((message("dog", size="small"),)), PARK, False),
        (Description((message("dog", action="sleeping"),)), PARK, False),
        (Description((message("dog"),), setting="beach"), PARK, False),
        (Description((message("dog"),), weather="snow"), PARK, True),
        (Description((message("dog"),), weather="rain"), PARK, False),
        (Description((message("dog"),), absent="cat"), PARK, True),
        (Description((message("dog"),), absent="ball"), PARK, False),
        (Description((message("dog"), message("ball", 2)), (Link("left", 0, 1),)), PARK, True),
        (Description((message("dog"), message("ball", 2)), (Link("right", 0, 1),)), PARK, False),
        (Description((message("ball", 2), message("dog")), (Link("left", 0, 1),)), PARK, False),
        (Description((message("ball", 2), message("dog")), (Link("near", 0, 1),)), PARK, True),
        (Description((message("cat"), message("tree")), (Link("under", 0, 1),)), BRANCH, True),
        (Description((message("cat"), message("tree")), (Link("on", 0, 1),)), BRANCH, False),
        (Description((message("tree"), message("cat")), (Link("under", 0, 1),)), BRANCH, False),
    ):
        assert is_true(description, scene) == true, description


def test_every_description_is_true_and_uses_the_vocabulary(scenes: list[Scene]) -> None:
    rng, words, atoms = random.Random(0), set(vocabulary()), set(every_atom())
    for scene in scenes:
        description = describe(scene, rng)
        assert is_true(description, scene)
        assert set(description.words) <= words
        assert claims(description) <= atoms
        assert facts(scene) <= atoms
        assert 2 <= len(description.words) <= 20


def test_a_description_leaves_things_out(scenes: list[Scene]) -> None:
    rng = random.Random(0)
    full = sum(len(describe(s, rng).phrases) == len(s.things) for s in scenes if len(s.things) > 2)
    assert full < 0.3 * sum(len(s.things) > 2 for s in scenes)


def test_false_captions_are_false_and_marked(scenes: list[Scene]) -> None:
    rng, kinds = random.Random(0), Counter[str]()
    for scene in scenes * 3:
        description = describe(scene, rng)
        noise = fine_grained(description, scene, rng)
        if noise is None:
            continue
        kinds[noise.kind] += 1
        words = noise.description.words
        assert not is_true(noise.description, scene)
        assert noise.changed
        content_words = [words[i] for i in noise.changed if words[i] not in FUNCTION_WORDS]
        assert content_words or noise.kind in ("relation", "count", "negation")
    assert set(kinds) == set(KINDS)


def test_swaps_are_false_and_only_noun_swaps_share_a_noun(scenes: list[Scene]) -> None:
    rng = random.Random(0)
    pairs = [(scene, describe(scene, rng)) for scene in scenes[:200]]
    for index in range(40):
        scene, its_own = pairs[index]
        nouns = {phrase.noun for phrase in its_own.phrases}
        for swap, shared in ((random_swap, False), (noun_swap, True)):
            other = swap(index, pairs, rng)
            assert not is_true(other, scene)
            assert bool(nouns & {phrase.noun for phrase in other.phrases}) == shared


def test_false_captions_cannot_be_detected_from_words_alone() -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    rng, noise = random.Random(0), BalancedNoise()
    texts, labels = [], []
    for _ in range(3000):
        scene = make_scene(rng)
        description = describe(scene, rng)
        false = noise(description, scene, rng)
        if false is not None:
            texts += [" ".join(description.words), " ".join(false.description.words)]
            labels += [0, 1]
    counts = CountVectorizer(ngram_range=(1, 2), min_df=4).fit_transform(texts)
    two_thirds = 2 * len(labels) // 3
    model = LogisticRegression(max_iter=500, C=0.1).fit(counts[:two_thirds], labels[:two_thirds])
    auc = roc_auc_score(labels[two_thirds:], model.decision_function(counts[two_thirds:]))
    assert 0.44 < auc < 0.56


def test_a_scene_looks_the_same_at_every_size(scenes: list[Scene]) -> None:
    for scene in scenes[:20]:
        large = np.asarray(render(scene, 256).resize((64, 64)), np.float32)
        small = np.asarray(render(scene, 64), np.float32)
        assert np.abs(large - small).mean() < 12
        assert render(scene, 64).tobytes() == render(scene, 64).tobytes()


def test_everything_in_a_scene_is_in_the_picture(scenes: list[Scene]) -> None:
    for scene in scenes:
        _, regions = render_with_regions(scene, 48)
        assert {region.thing for region in regions} == set(range(len(scene.things)))
        counts = Counter(region.thing for region in regions)
        for index, thing in enumerate(scene.things):
            assert counts[index] == thing.count
        for region in regions:
            x0, y0, x1, y1 = region.box
            assert 0 <= x0 < x1 <= 1
            assert 0 <= y0 < y1 <= 1


def test_the_demo_is_half_wrong_in_three_ways() -> None:
    scenes, pairs = make_pairs(120, 9, seed=5)
    noises = Counter(pair.noise for pair in pairs)
    assert noises[None] == 60
    assert noises["random"] + noises["noun"] + noises["fine-grained"] == 60
    assert sum(pair.is_abstract for pair in pairs) == 9
    for pair in pairs:
        assert (pair.noise is None) == (not pair.changed)
        assert all(pair.caption[a:b].strip() for a, b in pair.changed)
    assert make_pairs(120, 9, seed=5) == (scenes, pairs)
