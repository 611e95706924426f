"""Training examples of emoji: tokens are the tokenizer's, targets are where the emoji are."""

import random
from pathlib import Path

import numpy as np
import pytest

from research.emoji.arrangement import Arrangement
from research.emoji.emoji_examples import (
    EmojiWorld,
    open_emoji_examples,
    patch_targets,
    picture_of,
    split,
)
from research.emoji.sets import EmojiSets
from research.scenes.architecture import GRID
from research.scenes.tokenizer import make_tokenizer
from tests.research.emoji.few_emoji import write_sets


@pytest.fixture
def world(tmp_path: Path) -> EmojiWorld:
    return EmojiWorld(EmojiSets(write_sets(tmp_path), ("twemoji", "fluent")))


def test_the_vocabulary_does_not_depend_on_the_styles(world: EmojiWorld, tmp_path: Path) -> None:
    other = EmojiWorld(EmojiSets(tmp_path, ("noto",)))
    assert (other.tokens, other.bases, other.atoms) == (world.tokens, world.bases, world.atoms)


def test_captions_are_split_as_by_the_tokenizer(world: EmojiWorld) -> None:
    tokenizer = make_tokenizer(world.tokens)
    for text in ("two flags: Peru", "woman cook: dark skin tone to the left of red heart"):
        read = tokenizer(text)["input_ids"]
        assert [world.index[word] for word, _ in split(text)] == read[1:-1]
        assert [text[a:b].lower() for _, (a, b) in split(text)] == [w for w, _ in split(text)]


def test_patches_carry_the_emoji_that_covers_them(world: EmojiWorld) -> None:
    cat, cook = world.arrangements.emoji[0], world.arrangements.emoji[-1]
    truth = Arrangement((cat, cook), 1, "to the left of", "and")
    _, places = picture_of(world.sets, truth, "fluent", 96, random.Random(0))
    noun, tone, count = patch_targets(world, truth, places).reshape(3, GRID, GRID)
    assert set(noun[:, : GRID // 2].flat) == {0, world.bases[cat.base]}
    assert set(noun[:, GRID // 2 :].flat) == {0, world.bases[cook.base]}
    assert set(tone[:, GRID // 2 :].flat) == {0, 5}
    assert ((count == 1) == (noun > 0)).all()


def test_examples_are_stored_with_which_captions_are_true(
    world: EmojiWorld, tmp_path: Path
) -> None:
    emoji_examples = open_emoji_examples(tmp_path / "examples", world, 40, seed=3)
    rows, zero = np.arange(40), np.zeros(40, np.int64)
    true = emoji_examples.true_of(rows, zero)
    assert true.diagonal().all()
    assert not true.all()
    same = (emoji_examples.facts[:, None] == emoji_examples.facts[None]).all(-1)
    assert true[same].all()
    with_false = emoji_examples.false_words.any(-1)
    assert with_false.any()
    assert (emoji_examples.false_changed.any(-1) == with_false).all()
    marker = tmp_path / "examples" / "made.json"
    before = marker.stat().st_mtime_ns
    open_emoji_examples(tmp_path / "examples", world, 40, seed=3)
    assert marker.stat().st_mtime_ns == before
