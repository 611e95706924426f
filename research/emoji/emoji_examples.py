"""Training examples of emoji in some styles, in the arrays of `scenes.examples`.

Arrangement i depends only on `seed + i`. Its style is drawn from those that have all its emoji.
"""

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from backend.datasets.images import opened_image
from research.emoji.arrangement import (
    KINDS,
    NUMBERS,
    RELATIONS,
    Arrangement,
    Arrangements,
    Box,
    boxes,
    countable,
    counted,
    paint,
)
from research.emoji.sets import EmojiSets
from research.noise.changed_words import changed_spans
from research.scenes.architecture import GRID, IMAGE_SIZE
from research.scenes.examples import CAPTIONS, LONGEST, Examples
from research.scenes.tokenizer import SPECIAL
from research.scenes.training import Task

_TONES, _MOST = 6, len(NUMBERS)
_FACTS = 2
_SHAPES: dict[str, tuple[tuple[int, ...], type]] = {
    "pixels": ((IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8),
    "patches": ((3, GRID * GRID), np.int16),
    "surroundings": ((2,), np.uint8),
    "facts": ((_FACTS,), np.int16),
    "words": ((CAPTIONS, LONGEST), np.int16),
    "claims": ((CAPTIONS, _FACTS), np.int16),
    "false_words": ((CAPTIONS, LONGEST), np.int16),
    "false_changed": ((CAPTIONS, LONGEST), np.bool_),
    "false_kind": ((CAPTIONS,), np.int8),
}


class EmojiWorld:
    """The emoji of some sets: what can be arranged, its vocabulary and the targets of training.

    Worlds of the same names share vocabulary and targets, whatever styles they draw."""

    def __init__(self, sets: EmojiSets) -> None:
        self.sets = sets
        drawable = {code for files in sets.files.values() for code in files}
        self.arrangements = Arrangements([e for e in sets.emoji if e.code in drawable])
        emoji = Arrangements(sets.emoji).emoji
        names = [each.name for each in emoji]
        plurals = [counted(name, 2) for name in names if countable(name)]
        words = {word for text in (*names, *plurals) for word, _ in split(text)}
        words |= {word for text in (*NUMBERS, *RELATIONS, "and") for word in text.split()}
        #: The vocabulary, laid out like that of the scenes.
        self.tokens = (*SPECIAL, ".", ",", *sorted(words - {".", ","}), "[DEC]", "[ENC]")
        self.index = {token: number for number, token in enumerate(self.tokens)}
        self.bases = {base: i + 1 for i, base in enumerate(dict.fromkeys(e.base for e in emoji))}
        self._facts = {emoji.code: _MOST * i for i, emoji in enumerate(emoji)}
        self.atoms = _MOST * len(emoji)
        #: Emoji without skin tone, the tone and the number on each patch; the kind of the picture.
        self.task = Task(
            self.tokens,
            {"noun": len(self.bases) + 1, "tone": _TONES, "count": _MOST + 1},
            {"count": _MOST, "relation": len(RELATIONS) + 1},
        )

    def styles_of(self, arrangement: Arrangement) -> list[str]:
        """The styles that draw all emoji of the arrangement."""
        codes = [emoji.code for emoji in arrangement.emoji]
        return [
            style
            for style, files in self.sets.files.items()
            if all(code in files for code in codes)
        ]

    def fact(self, code: str, count: int) -> int:
        return self._facts[code] + count - 1


@cache
def _normalizer() -> BertNormalizer:
    return BertNormalizer(lowercase=True)


def split(text: str) -> list[tuple[str, tuple[int, int]]]:
    """The tokens of a text as the models' tokenizer splits it, with their spans in the text. A text
    that changes its length in lower case (no name does) would have other spans.

    >>> split("cook: dark")
    [('cook', (0, 4)), (':', (4, 5)), ('dark', (6, 10))]
    """
    pieces: list[tuple[str, tuple[int, int]]] = BertPreTokenizer().pre_tokenize_str(text)
    return [(_normalizer().normalize_str(piece), span) for piece, span in pieces]


def picture_of(
    sets: EmojiSets, arrangement: Arrangement, style: str, side: int, rng: random.Random
) -> tuple[Image.Image, list[Box]]:
    """The arrangement in a style, and where each emoji (or copy of a single one) is."""
    places = boxes(arrangement, rng)
    codes = [emoji.code for emoji in arrangement.emoji]
    drawn = [_glyph(sets.files[style][code]) for code in codes]
    return paint(drawn * arrangement.count, places, side, rng), places


@cache
def _glyph(path: Path) -> Image.Image:
    with opened_image(path) as image:
        picture = image.convert("RGBA")
    picture.thumbnail((72, 72), Image.Resampling.BICUBIC)
    square = Image.new("RGBA", (max(picture.size),) * 2)
    left, upper = ((square.width - side) // 2 for side in picture.size)
    square.paste(picture, (left, upper))
    return square


def open_emoji_examples(folder: Path, world: EmojiWorld, count: int, seed: int) -> Examples:
    """The arrays in `folder`, which are drawn first unless they exist for these settings."""
    marker = folder / "made.json"
    wanted = {"count": count, "seed": seed, "styles": list(world.sets.styles), "version": 1}
    if not marker.exists() or json.loads(marker.read_text()) != wanted:
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {
            name: np.lib.format.open_memmap(folder / f"{name}.npy", "w+", kind, (count, *shape))
            for name, (shape, kind) in _SHAPES.items()
        }
        for i in range(count):
            _fill(arrays, i, world, random.Random(seed + i))
        for array in arrays.values():
            array.flush()
        marker.write_text(json.dumps(wanted))
    return Examples(
        **{name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in _SHAPES},
        atoms=world.atoms,
        kinds=KINDS,
        emphasis=(1.0,) * len(KINDS),
        negations=[world.index[word] for word in ("no", "not", "without") if word in world.index],
    )


def _fill(
    arrays: Mapping[str, NDArray[Any]], i: int, world: EmojiWorld, rng: random.Random
) -> None:
    truth = world.arrangements.draw(rng)
    while not (styles := world.styles_of(truth)):
        truth = world.arrangements.draw(rng)
    image, places = picture_of(world.sets, truth, rng.choice(styles), IMAGE_SIZE, rng)
    arrays["pixels"][i] = np.asarray(image)
    arrays["patches"][i] = patch_targets(world, truth, places)
    relation = RELATIONS.index(truth.relation) + 1 if truth.relation else 0
    arrays["surroundings"][i] = truth.count - 1, relation
    # As in the scenes' examples: the second-to-last atom is in no caption, the last in every scene.
    facts = [world.fact(*fact) for fact in truth.facts]
    arrays["facts"][i] = _padded(facts, _FACTS, world.atoms + 1)
    for k in range(CAPTIONS):
        variant = world.arrangements.retold(truth, rng)
        arrays["words"][i, k] = _padded(_ids(world, variant.caption), LONGEST, 0)
        arrays["claims"][i, k] = _padded(facts, _FACTS, world.atoms)
        wrong = world.arrangements.spoil(variant, rng)
        if wrong is None:
            continue
        arrays["false_words"][i, k] = _padded(_ids(world, wrong.caption), LONGEST, 0)
        arrays["false_kind"][i, k] = KINDS.index(wrong.kind)
        spans = changed_spans(variant.caption, wrong.caption)
        for position, (_, (start, end)) in enumerate(split(wrong.caption)[:LONGEST]):
            touched = any(start < b and a < end for a, b in spans)
            arrays["false_changed"][i, k, position] = touched


def patch_targets(
    world: EmojiWorld, truth: Arrangement, places: Sequence[Box]
) -> NDArray[np.int16]:
    """Class indices in the order of the task's patch classes, shape [3, GRID * GRID]."""
    targets = np.zeros((3, GRID, GRID), np.int16)
    middles = (np.arange(GRID) + 0.5) / GRID
    emoji = truth.emoji * (len(places) // len(truth.emoji))
    for each, (x0, y0, x1, y1) in zip(emoji, places, strict=True):
        columns, rows = (middles >= x0) & (middles <= x1), (middles >= y0) & (middles <= y1)
        values = np.array([world.bases[each.base], max(each.tones, default=0), truth.count])
        targets[:, rows[:, None] & columns[None, :]] = values[:, None]
    return targets.reshape(3, -1)


def _ids(world: EmojiWorld, text: str) -> list[int]:
    return [world.index[word] for word, _ in split(text)][:LONGEST]


def _padded(numbers: Iterable[int], length: int, filler: int) -> NDArray[np.int16]:
    listed = list(numbers)
    return np.array([*listed, *[filler] * (length - len(listed))], np.int16)
