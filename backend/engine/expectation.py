"""A captioner's expectations: log p(word | image, words before), in one pass per caption.

A captioner conditioned on the picture assigns a probability to every word of the caption, from left
to right. Words that make the caption wrong are improbable:

    "A red dog on the desert"
    log p: A -0.1, red -0.4, dog -0.2, on -0.1, the -0.1, desert -6.1
    instead of *desert* it expected: grass 0.61, sand 0.20

The log-probability of a word of several tokens is the sum of theirs. Its *distance* is how much
higher that sum would be for the most likely tokens; 0 if the caption's own are the most likely.
This module is model-independent: a captioner supplies `TokenReading`s
(`engine/correction/captioner.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption

if TYPE_CHECKING:
    from PIL import Image

FloatArray = NDArray[np.float32]

#: Alternatives kept for each word of the caption.
ALTERNATIVES = 3
#: Batch size, in captions.
BATCH = 16
#: Lower bound of a word's log-probability, so that one impossible word does not dominate.
LOWEST = -30.0

#: (word, probability), most likely first.
Alternatives = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class TokenReading:
    """A captioner's output for the tokens of one caption.

    * `spans`: character range of each token in the caption; `log_p`, `best`: log-probability of the
      token and of the most likely one in its place, both [tokens], at most 0.
    * `words`: for each token the most likely whole words in its place.
    """

    spans: Sequence[tuple[int, int]]
    log_p: FloatArray
    best: FloatArray
    words: Sequence[Alternatives]


class Reader(Protocol):
    """The part of a captioner's interface that is used here."""

    @property
    def identity(self) -> str:
        """A short alphanumeric identifier of the exact weights."""
        ...

    def encode(self, images: Sequence["Image.Image"]) -> Sequence[Any]:
        """The encoded images, as input for `read`."""
        ...

    def read(self, memories: Sequence[Any], captions: Sequence[str]) -> list[TokenReading]:
        """One reading for each (image, caption)."""
        ...


@dataclass(frozen=True)
class Expectation:
    """A captioner's expectations of each word that it has read, in the order of the caption.

    * `log_p`: log-probability of the word, shape [words read], at most 0; lower is more suspect.
    * `distance`: how much higher the log-probability of the most likely tokens is, shape [words
      read], at least 0; higher is more suspect.
    * `alternatives`: for each word the most likely words in its place; empty if not kept.
    * `captioner`: `Reader.identity` of the captioner.
    """

    log_p: FloatArray
    distance: FloatArray
    alternatives: tuple[Alternatives, ...] = ()
    captioner: str = ""


def expectation_of(caption: str, reading: TokenReading, captioner: str = "") -> Expectation:
    """Aggregate tokens to words. Tokens outside every word (punctuation) are ignored.

    >>> ones = np.log(np.array([0.5, 0.25, 0.5], np.float32))
    >>> best = np.log(np.array([0.5, 0.5, 0.5], np.float32))
    >>> reading = TokenReading([(0, 1), (2, 4), (4, 6)], ones, best, [(("a", 0.5),), (), ()])
    >>> found = expectation_of("A doggy!", reading)
    >>> np.exp(found.log_p).round(3).tolist(), np.exp(found.distance).round(3).tolist()
    ([0.5, 0.125], [1.0, 2.0])
    """
    spans = Caption.parse(caption).spans
    log_p, distance = np.zeros(len(spans), np.float32), np.zeros(len(spans), np.float32)
    words: dict[int, Alternatives] = {}
    word = 0
    for (start, end), log_p_of_token, best, likeliest in zip(
        reading.spans, reading.log_p, reading.best, reading.words, strict=True
    ):
        while word < len(spans) and spans[word][1] <= start:
            word += 1
        if word == len(spans) or end <= spans[word][0]:
            continue
        log_p[word] += log_p_of_token
        distance[word] += best - log_p_of_token
        words.setdefault(word, likeliest[:ALTERNATIVES])
    words_read = max(words, default=-1) + 1
    return Expectation(
        np.clip(log_p[:words_read], LOWEST, 0.0),
        np.clip(distance[:words_read], 0.0, -LOWEST),
        tuple(words.get(number, ()) for number in range(words_read)),
        captioner,
    )


def expectations(
    captioner: Reader, pairs: Sequence[tuple["Image.Image", str]]
) -> list[Expectation]:
    """One for each (image, caption), in order. Each distinct image is encoded once."""
    images = list({id(image): image for image, _ in pairs}.values())
    memories = dict(zip(map(id, images), captioner.encode(images), strict=True))
    return expectations_in(captioner, [(memories[id(image)], text) for image, text in pairs])


def expectations_in(captioner: Reader, pairs: Sequence[tuple[Any, str]]) -> list[Expectation]:
    """`expectations` for images that are already encoded (`Reader.encode`)."""
    captioner_name = captioner.identity
    result: list[Expectation] = []
    for first in range(0, len(pairs), BATCH):
        part = pairs[first : first + BATCH]
        readings = captioner.read([memory for memory, _ in part], [text for _, text in part])
        result += [
            expectation_of(text, reading, captioner_name)
            for (_, text), reading in zip(part, readings, strict=True)
        ]
    return result
