"""Captions of a given length, and a tokenizer with about as many tokens per word as a real one."""

import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, Tokens

_SUBJECTS = (
    "a man",
    "two girls",
    "an old woman",
    "a brown dog",
    "the tall waiter",
    "some children",
)
_VERBS = ("holds", "looks at", "walks past", "carries", "is painting", "waits for")
_OBJECTS = ("a red bicycle", "the last train", "a wooden table", "an empty glass", "two suitcases")
_PLACES = ("in a park", "on the beach", "near the station", "under a bridge", "beside a parked car")
_REST = ("on a sunny day", "with a small child", "while it is raining", "and smiles", "at night")


def make_captions(count: int, words: tuple[int, int], seed: int = 0) -> list[str]:
    """Captions whose lengths are spread evenly over the range `words`, both ends included."""
    rng = random.Random(seed)
    shortest, longest = words
    captions = []
    for index in range(count):
        wanted = shortest + index % (longest - shortest + 1)
        text = ""
        while len(text.split()) < wanted:
            parts = (_SUBJECTS, _VERBS, _OBJECTS, _PLACES, _REST)
            text += " ".join(rng.choice(part) for part in parts) + " and "
        captions.append(" ".join(text.split()[:wanted]))
    return captions


@dataclass
class HashReader:
    """Hashes each word to one token, or two if it is long: no vocabulary is available offline.

    `vocabulary`: number of tokens; `context`: maximum length, special tokens included; `tokenizer`:
    provides the special token ids that scorers use.
    """

    vocabulary: int
    context: int
    tokenizer: object

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        return [
            tuple(t for word in Caption.parse(caption).words for t in self._word(word))[
                : self.context - 2
            ]
            for caption in captions
        ]

    def spans(self, caption: str) -> list[tuple[int, int]]:
        parsed = Caption.parse(caption)
        spans = []
        for word, (start, end) in zip(parsed.words, parsed.spans, strict=True):
            middle = (start + end) // 2
            spans += (
                [(start, end)] if len(self._word(word)) == 1 else [(start, middle), (middle, end)]
            )
        return spans[: self.context - 2]

    def decode(self, tokens: Tokens) -> str:
        return " ".join(f"w{token}" for token in tokens)

    def words_read(self, caption: str) -> int:
        return len(Caption.parse(caption))

    def replaceable(self, whole_words: bool) -> BoolArray:
        return (np.arange(self.vocabulary) >= 2000) & (np.arange(self.vocabulary) < 20_000)

    def _word(self, word: str) -> list[int]:
        key = zlib.crc32(word.lower().encode())
        return [2000 + (key >> (8 * part)) % 18_000 for part in range(1 + (len(word) > 9))]
