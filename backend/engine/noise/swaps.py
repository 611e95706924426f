"""Random and noun swaps: a caption is replaced by another image's (TRACED §4.2, after LEMoN)."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from random import Random
from typing import NamedTuple

from backend.engine.captions import Caption
from backend.engine.english.nouns import find_nouns
from backend.engine.noise.noisy_caption import NoisyCaption

_TRIES = 30


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
        for index, pair in enumerate(self.pairs):
            self._captions_of[pair.image].add(_plain(pair.caption))
            nouns = find_nouns(Caption.parse(pair.caption).words)
            self._nouns.append(nouns)
            for noun in nouns:
                self._by_noun[noun].append(index)

    def random(self, index: int, generator: Random) -> NoisyCaption | None:
        """The caption of a random other image, or None if there is no other caption."""
        drawn = [generator.randrange(len(self.pairs)) for _ in range(_TRIES)]
        return self._first_that_fits(index, [*drawn, *range(len(self.pairs))], "random")

    def noun(self, index: int, generator: Random) -> NoisyCaption | None:
        """The caption of another image that shares a noun, or None if there is none.

        First a noun of the caption is sampled, then a caption that contains it, so that frequent
        nouns (people) do not dominate.
        """
        nouns = sorted(self._nouns[index])
        generator.shuffle(nouns)
        for noun in nouns:
            sharing = self._by_noun[noun]
            drawn = [generator.choice(sharing) for _ in range(_TRIES)]
            swapped = self._first_that_fits(index, [*drawn, *sharing], "noun")
            if swapped is not None:
                return swapped
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


def _plain(caption: str) -> str:
    """The caption's words in lower case, for comparing captions."""
    return " ".join(word.lower() for word in Caption.parse(caption).words)
