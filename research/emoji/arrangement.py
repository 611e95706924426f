"""A picture of one emoji or of a few, its captions, and captions that are wrong in one detail.

Everything in a picture is drawn in one style. Captions consist of the emoji's names and of the few
words that an arrangement needs:

    one emoji          "woman astronaut: dark skin tone"
    two to four        "three red apples"
    two side by side   "cat face and red apple", "flag: Peru to the left of cat face"
    one above          "cat face above red apple"

A fine-grained error replaces a name by that of another emoji that differs in one word (another skin
tone, profession, colour, country), the number, or the relation. Every false name is also a name
that people gave to an emoji.
"""

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from PIL import Image

from backend.engine.english.nouns import plural_of
from backend.engine.english.word_lists import COLOURS
from research.emoji.sets import Emoji

KINDS = ("skin tone", "gender", "colour", "flag", "profession", "noun", "count", "relation")
NUMBERS = ("", "two", "three", "four")
#: Mutually exclusive relations of the first emoji to the second.
RELATIONS = ("to the left of", "to the right of", "above", "below")
OPPOSITE = dict(zip(RELATIONS, (RELATIONS[k] for k in (1, 0, 3, 2)), strict=True))
_BESIDE, _ON_TOP = RELATIONS[:2], RELATIONS[2:]
_GENDERS = frozenset(
    [
        "man",
        "woman",
        "person",
        "men",
        "women",
        "people",
        "boy",
        "girl",
        "child",
        "prince",
        "princess",
    ]
)
#: Subgroups of emojibase: roles, activities and sports of people.
_PROFESSIONS = (25, 27, 28)
_COUNTRIES = 98
#: Longer names do not fit into what the models read.
_LONGEST_NAME = 7


@dataclass(frozen=True)
class Arrangement:
    """`emoji`: one, or two that differ; `count`: how many of a single one; `relation`: of the first
    to the second, "" for a single one; `words`: the same in the caption, where it may be "and"."""

    emoji: tuple[Emoji, ...]
    count: int = 1
    relation: str = ""
    words: str = ""

    @property
    def caption(self) -> str:
        if len(self.emoji) == 1:
            return counted(self.emoji[0].name, self.count)
        first, second = (emoji.name for emoji in self.emoji)
        return f"{first} {self.words} {second}"

    @property
    def facts(self) -> list[tuple[str, int]]:
        """Emoji codes with their number in the picture."""
        return [(emoji.code, self.count) for emoji in self.emoji]


@dataclass(frozen=True)
class Wrong:
    """A caption that is false of an arrangement, and what it changes (one of KINDS)."""

    caption: str
    kind: str


def counted(name: str, count: int) -> str:
    """
    >>> counted("cat face", 1), counted("cat face", 3), counted("cook: dark skin tone", 2)
    ('cat face', 'three cat faces', 'two cooks: dark skin tone')
    """
    if count == 1:
        return name
    head, colon, rest = name.partition(":")
    *before, noun = head.split(" ")
    return " ".join([NUMBERS[count - 1], *before, plural_of(noun)]) + colon + rest


def countable(name: str) -> bool:
    """Whether the plural of the name is English: two simple words at most, no plural yet."""
    words = name.partition(":")[0].split(" ")
    return (
        len(words) <= 2
        and all(word.isascii() and word.isalpha() and word.islower() for word in words)
        and not words[-1].endswith(("s", "ing", "ed"))
        and words[-1] not in ("people", "men", "women", "mice", "hair")
    )


class Arrangements:
    """Random arrangements of some emoji, and errors in their captions."""

    def __init__(self, emoji: Sequence[Emoji]) -> None:
        self.emoji = [each for each in emoji if len(each.name.split()) <= _LONGEST_NAME]
        self._toneless = [each for each in self.emoji if not each.tones]

    def draw(self, rng: random.Random) -> Arrangement:
        """Four in ten show one emoji, two in ten several of one, four in ten two different ones.

        Half of the emoji have no skin tone: the others are variants of few people and hands.
        """
        first, chance = self._any(rng), rng.random()
        if chance < 0.2 and countable(first.name):
            return Arrangement((first,), rng.randint(2, 4))
        if chance < 0.6:
            return Arrangement((first,))
        second = self._any(rng)
        while second.base == first.base:
            second = self._any(rng)
        relation = rng.choice(RELATIONS)
        words = "and" if rng.random() < 0.4 else relation
        return Arrangement((first, second), 1, relation, words)

    def retold(self, truth: Arrangement, rng: random.Random) -> Arrangement:
        """The same picture, perhaps with the other emoji first, or another word between them."""
        if len(truth.emoji) == 1:
            return truth
        emoji, relation = truth.emoji, truth.relation
        if rng.random() < 0.5:
            emoji, relation = emoji[::-1], OPPOSITE[relation]
        words = "and" if rng.random() < 0.4 else relation
        return Arrangement(emoji, 1, relation, words)

    def spoil(self, truth: Arrangement, rng: random.Random) -> Wrong | None:
        """A false caption that differs in one detail; None if there is none."""
        by_kind = defaultdict(list)
        for place, emoji in enumerate(truth.emoji):
            for kind, names in self.neighbours(emoji).items():
                by_kind[kind].append((place, names))
        kinds = list(by_kind)
        if truth.count > 1 or (len(truth.emoji) == 1 and countable(truth.emoji[0].name)):
            kinds.append("count")
        if truth.words in RELATIONS:
            kinds.append("relation")
        if not kinds:
            return None
        kind = rng.choice(kinds)
        if kind == "count":
            count = rng.choice([n for n in (1, 2, 3, 4) if n != truth.count])
            return Wrong(replace(truth, count=count).caption, kind)
        if kind == "relation":
            words = rng.choice([other for other in RELATIONS if other != truth.relation])
            return Wrong(replace(truth, words=words).caption, kind)
        place, others = rng.choice(by_kind[kind])
        listed = list(truth.emoji)
        shown = {emoji.code for emoji in listed}
        others = [
            e for e in others if e.code not in shown and (truth.count == 1 or countable(e.name))
        ]
        if not others:
            return None
        listed[place] = rng.choice(others)
        return Wrong(replace(truth, emoji=tuple(listed)).caption, kind)

    def neighbours(self, emoji: Emoji) -> dict[str, list[Emoji]]:
        """The emoji whose names differ from this one's in a single word, by kind of that word."""
        made: dict[str, list[Emoji]] = defaultdict(list)
        words = emoji.name.split()
        for place, word in enumerate(words):
            for other in self._by_gap[_gap(emoji, words, place)]:
                new = other.name.split()[place]
                if new != word:
                    made[_kind(emoji, word, new)].append(other)
        return made

    def _any(self, rng: random.Random) -> Emoji:
        return rng.choice(self._toneless if rng.random() < 0.5 else self.emoji)

    @cached_property
    def _by_gap(self) -> dict[tuple[object, ...], list[Emoji]]:
        made: dict[tuple[object, ...], list[Emoji]] = defaultdict(list)
        for emoji in self.emoji:
            words = emoji.name.split()
            for place in range(len(words)):
                made[_gap(emoji, words, place)].append(emoji)
        return made


def _gap(emoji: Emoji, words: Sequence[str], place: int) -> tuple[object, ...]:
    """A name without one word; a name of one word is compared within its subgroup."""
    rest = (*words[:place], None, *words[place + 1 :])
    return (emoji.subgroup, *rest) if len(words) == 1 else rest


def _kind(emoji: Emoji, old: str, new: str) -> str:
    pair = {word.strip(":,").lower() for word in (old, new)}
    if emoji.tones and all(word.endswith(("light", "medium", "dark")) for word in pair):
        return "skin tone"
    if pair <= _GENDERS:
        return "gender"
    if pair <= set(COLOURS):
        return "colour"
    if emoji.subgroup == _COUNTRIES:
        return "flag"
    return "profession" if emoji.subgroup in _PROFESSIONS else "noun"


# Drawing.

#: A rectangle as left, upper, right, lower, in shares of the picture.
Box = tuple[float, float, float, float]


def boxes(truth: Arrangement, rng: random.Random) -> list[Box]:
    """Positions of the emoji, in the order of `truth.emoji`, or of the copies of a single one."""
    if len(truth.emoji) == 1 and truth.count == 1:
        size = rng.uniform(0.62, 0.94)
        return [
            _square(rng.uniform(size / 2, 1 - size / 2), rng.uniform(size / 2, 1 - size / 2), size)
        ]
    size = rng.uniform(0.38, 0.47)
    if len(truth.emoji) == 1:
        cells = rng.sample([(0.25, 0.25), (0.75, 0.25), (0.25, 0.75), (0.75, 0.75)], truth.count)
        return [_square(x, y, size) for x, y in sorted(cells)]
    across = rng.uniform(0.3, 0.7)
    middles = [(0.25, across), (0.75, across)]
    if truth.relation in _ON_TOP:
        middles = [(y, x) for x, y in middles]
    if truth.relation in (_BESIDE[1], _ON_TOP[1]):
        middles.reverse()
    return [_square(x, y, size) for x, y in middles]


def _square(x: float, y: float, size: float) -> Box:
    return x - size / 2, y - size / 2, x + size / 2, y + size / 2


def paint(
    pictures: Sequence[Image.Image], places: Sequence[Box], side: int, rng: random.Random
) -> Image.Image:
    """The pictures (RGBA) in their places on a pale background, `side` pixels wide and high."""
    pale = rng.randint(225, 255), rng.randint(225, 255), rng.randint(225, 255)
    canvas = Image.new("RGB", (side, side), pale)
    for picture, (x0, y0, x1, _) in zip(pictures, places, strict=True):
        width = max(1, round((x1 - x0) * side))
        scaled = picture.resize((width, width), Image.Resampling.BICUBIC)
        canvas.paste(scaled, (round(x0 * side), round(y0 * side)), scaled)
    return canvas
