"""Inject noise of several kinds into a share of a dataset.

Random and noun swaps replace a caption by another image's (TRACED §4.2, after LEMoN).
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple, Protocol

from backend.engine.captions import Caption, lower_words
from backend.engine.english.nouns import find_nouns
from backend.engine.languages.identification import language_in, usual_language
from backend.engine.languages.language import ENGLISH, Language
from backend.engine.noise.fine_grained import FineGrainedNoise
from backend.engine.noise.noisy_caption import NoisyCaption

_TRIES = 30
_FREQUENT = 0.2
#: The kinds of words that are nouns.
_NOUNS = ("person", "object", "place")


class ImageCaption(NamedTuple):
    """A pair; `image` is any key that identifies the image."""

    image: str
    caption: str


class Swapper:
    """Finds partners for swaps within one list of pairs."""

    def __init__(self, pairs: Iterable[ImageCaption]) -> None:
        self.pairs = [ImageCaption(*pair) for pair in pairs]
        self._captions_of: dict[str, set[str]] = defaultdict(set)
        self._by_noun: dict[str, list[int]] = defaultdict(list)
        self._nouns: list[frozenset[str]] = []
        usual = usual_language(pair.caption for pair in self.pairs)
        frequent = _frequent_words(pair.caption for pair in self.pairs)
        for index, pair in enumerate(self.pairs):
            self._captions_of[pair.image].add(_plain(pair.caption))
            nouns = _nouns_in(pair.caption, language_in(pair.caption, usual), frequent)
            self._nouns.append(nouns)
            for noun in nouns:
                self._by_noun[noun].append(index)

    def random(self, index: int, generator: Random) -> NoisyCaption | None:
        """The caption of a random other image, or None if there is no other caption."""
        sample = [generator.randrange(len(self.pairs)) for _ in range(_TRIES)]
        return self._first_that_fits(index, [*sample, *range(len(self.pairs))], "random")

    def noun(self, index: int, generator: Random) -> NoisyCaption | None:
        """The caption of another image that shares a noun, or None if there is none.

        First a noun of the caption is sampled, then a caption that contains it, so that frequent
        nouns (people) do not dominate.
        """
        nouns = sorted(self._nouns[index])
        generator.shuffle(nouns)
        for noun in nouns:
            sharing = self._by_noun[noun]
            sample = [generator.choice(sharing) for _ in range(_TRIES)]
            swap = self._first_that_fits(index, [*sample, *sharing], "noun")
            if swap is not None:
                return swap
        return None

    def _first_that_fits(
        self, index: int, candidates: Sequence[int], kind: str
    ) -> NoisyCaption | None:
        """The first candidate from another image whose caption is not also one of this image's."""
        image, original = self.pairs[index]
        for candidate in candidates:
            other = self.pairs[candidate]
            if other.image != image and _plain(other.caption) not in self._captions_of[image]:
                span = ((0, len(other.caption)),)
                return NoisyCaption(other.caption, span, kind, (kind,), original)
        return None


def _nouns_in(caption: str, language: Language, frequent: frozenset[str]) -> frozenset[str]:
    """The nouns of a caption; of a language without lists, its words that are not `frequent`."""
    if language is ENGLISH:
        return find_nouns(Caption.parse(caption).words)
    words = frozenset(lower_words(caption))
    if not language.groups:
        return words - frequent - language.identifies
    return frozenset(word for word in words if language.kinds.get(word) in _NOUNS)


def _frequent_words(captions: Iterable[str]) -> frozenset[str]:
    """Words of more than a fifth of the captions: mostly function words."""
    words = [set(lower_words(caption)) for caption in captions]
    counts = Counter(word for each in words for word in each)
    return frozenset(word for word, count in counts.items() if count > _FREQUENT * len(words))


def _plain(caption: str) -> str:
    """The caption's words in lower case, for comparing captions."""
    return " ".join(word.lower() for word in Caption.parse(caption).words)


#: The three kinds of TRACED §4.2.
KINDS = ("random", "noun", "fine_grained")

Maker = Callable[[int, random.Random], NoisyCaption | None]


class FineGrainedSource(Protocol):
    """Rules (`FineGrainedNoise`) or a language model (`LanguageModelNoise`)."""

    def make(self, text: str, generator: random.Random) -> NoisyCaption | None: ...


def inject(
    pairs: Iterable[ImageCaption],
    rate: float,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    source: FineGrainedSource | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> list[NoisyCaption | None]:
    """One entry per pair: its noisy caption, or None if the caption is unchanged.

    round(rate · pairs) pairs are sampled and the kinds assigned to them in turn. A pair that does
    not allow its kind (no shared noun, no applicable rule) gets another one; a pair that allows
    none is skipped and replaced by the next. `source` makes the fine-grained errors; by default,
    rules balanced to `pairs`. `tick`: called with (made, wanted) after each.

    Raises ValueError for a rate outside [0, 1] or an unknown kind.
    """
    pairs = list(pairs)
    if not 0 <= rate <= 1:
        raise ValueError(f"The noise rate must lie between 0 and 1, not {rate}.")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ValueError(f"Unknown kinds of noise {unknown}. There are: {', '.join(KINDS)}.")
    generator = random.Random(seed)
    makers = _makers(pairs, kinds, source)
    order = list(range(len(pairs)))
    generator.shuffle(order)
    noisy: list[NoisyCaption | None] = [None] * len(pairs)
    target = round(rate * len(pairs))
    count = 0
    for index in order:
        if count == target:
            break
        turn = count % len(kinds)
        for kind in [*kinds[turn:], *kinds[:turn]]:
            noisy_caption = makers[kind](index, generator)
            if noisy_caption is not None:
                noisy[index] = noisy_caption
                count += 1
                if tick is not None:
                    tick(count, target)
                break
    return noisy


def _makers(
    pairs: list[ImageCaption], kinds: Sequence[str], source: FineGrainedSource | None
) -> dict[str, Maker]:
    makers: dict[str, Maker] = {}
    if "random" in kinds or "noun" in kinds:
        swapper = Swapper(pairs)
        makers["random"] = swapper.random
        makers["noun"] = swapper.noun
    if "fine_grained" in kinds:
        maker = source or FineGrainedNoise(pair.caption for pair in pairs)
        makers["fine_grained"] = lambda index, generator: maker.make(
            pairs[index].caption, generator
        )
    return makers
