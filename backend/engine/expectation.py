"""What a captioner expects: log p(word | image, words before), one pass a caption.

A captioner that sees the picture and reads the caption from left to right says of every word how
likely it was. Where the caption is wrong, a word surprises it:

    "A red dog on the desert"
    log p: A -0.1, red -0.4, dog -0.2, on -0.1, the -0.1, desert -6.1
    instead of *desert* it expected: grass 0.61, sand 0.20

A word of several tokens has the sum of their log-probabilities. Its *distance* is how much more
the best tokens would have; 0 where the caption's own are the best. This module knows no model: a
captioner gives `TokenReading`s (`backend.engine.correction.captioner`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from backend.engine.captions import Caption

if TYPE_CHECKING:
    from PIL import Image

    from backend.engine.trajectories.trajectory import Trajectory

FloatArray = NDArray[np.float32]

#: Best words that are kept for each word of the caption.
ALTERNATIVES = 3
#: Captions read together.
BATCH = 16
#: A word's log-probability is cut here: what is impossible must not drown all others.
LOWEST = -30.0

#: (word, probability), likeliest first.
Alternatives = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class TokenReading:
    """One caption as its tokens.

    * `spans`: characters of each token in the caption; `log_p`, `best`: log-probability of the
      token and of the likeliest one in its place, both [tokens], at most 0.
    * `words`: for each token the likeliest whole words in its place.
    """

    spans: Sequence[tuple[int, int]]
    log_p: FloatArray
    best: FloatArray
    words: Sequence[Alternatives]


class Reader(Protocol):
    """The part of a captioner that is asked here."""

    @property
    def identity(self) -> str:
        """A few letters and digits that name these very weights."""
        ...

    def see(self, image: "Image.Image") -> Any:
        """The image as it is given to `read`."""
        ...

    def read(self, memories: Sequence[Any], captions: Sequence[str]) -> list[TokenReading]:
        """One reading for each (image, caption)."""
        ...


@dataclass(frozen=True)
class Expectation:
    """What a captioner says of each word that it has read, in the order of the caption.

    * `log_p`: log-probability of the word, shape [words read], at most 0; lower is more suspect.
    * `distance`: log-probability that the best tokens would have more, shape [words read], at
      least 0; higher is more suspect.
    * `alternatives`: for each word the likeliest words in its place; empty where not kept.
    * `captioner`: `Reader.identity` of who said so.
    """

    log_p: FloatArray
    distance: FloatArray
    alternatives: tuple[Alternatives, ...] = ()
    captioner: str = ""


@dataclass(frozen=True)
class CaptionSignals:
    """What the words say of the whole caption. Log-probabilities: lower is more suspect;
    distances: higher is; a caption of which no word was read has `words` 0 and 0 for all else."""

    mean: float = 0.0
    sum: float = 0.0
    lowest: float = 0.0
    second_lowest: float = 0.0
    mean_distance: float = 0.0
    largest_distance: float = 0.0
    words: int = 0


def expectation_of(caption: str, reading: TokenReading, captioner: str = "") -> Expectation:
    """Words from tokens. Tokens outside every word (punctuation) belong to none.

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
    read = max(words, default=-1) + 1
    return Expectation(
        np.clip(log_p[:read], LOWEST, 0.0),
        np.clip(distance[:read], 0.0, -LOWEST),
        tuple(words.get(number, ()) for number in range(read)),
        captioner,
    )


def expectations(
    captioner: Reader, asked: Sequence[tuple["Image.Image", str]]
) -> list[Expectation]:
    """One for each (image, caption), in order. An image that comes again is encoded once."""
    memories = {id(image): captioner.see(image) for image, _ in _distinct(asked)}
    return expectations_in(captioner, [(memories[id(image)], text) for image, text in asked])


def expectations_in(captioner: Reader, asked: Sequence[tuple[Any, str]]) -> list[Expectation]:
    """`expectations` of images that the captioner has seen already."""
    captioner_name = captioner.identity
    result: list[Expectation] = []
    for first in range(0, len(asked), BATCH):
        part = asked[first : first + BATCH]
        readings = captioner.read([memory for memory, _ in part], [text for _, text in part])
        result += [
            expectation_of(text, reading, captioner_name)
            for (_, text), reading in zip(part, readings, strict=True)
        ]
    return result


def with_expectations(
    captioner: Reader | None, images: Sequence["Image.Image"], trajectories: Sequence["Trajectory"]
) -> list["Trajectory"]:
    """The trajectories, each of a caption of its image, with what the captioner expects of each; as
    they are without a captioner."""
    if captioner is None or not trajectories:
        return list(trajectories)
    captions = [trajectory.caption.text for trajectory in trajectories]
    added = expectations(captioner, list(zip(images, captions, strict=True)))
    return [
        replace(trajectory, expectation=e)
        for trajectory, e in zip(trajectories, added, strict=True)
    ]


def listening(trajectories: Sequence["Trajectory"], captioner: str) -> list["Trajectory"]:
    """The trajectories with what this captioner expects, and without what another does."""
    return [
        trajectory
        if trajectory.expectation is None or trajectory.expectation.captioner == captioner
        else replace(trajectory, expectation=None)
        for trajectory in trajectories
    ]


def signals_of(expectation: Expectation | None) -> CaptionSignals:
    """>>> two = Expectation(np.array([-1, -3], np.float32), np.array([0, 2], np.float32))
    >>> found = signals_of(two)
    >>> found.mean, found.lowest, found.largest_distance, found.words
    (-2.0, -3.0, 2.0, 2)
    """
    if expectation is None or not len(expectation.log_p):
        return CaptionSignals()
    log_p, distance = expectation.log_p.astype(float), expectation.distance.astype(float)
    ordered = np.sort(log_p)
    return CaptionSignals(
        float(log_p.mean()),
        float(log_p.sum()),
        float(ordered[0]),
        float(ordered[min(1, len(ordered) - 1)]),
        float(distance.mean()),
        float(distance.max()),
        len(log_p),
    )


def _distinct(asked: Sequence[tuple["Image.Image", str]]) -> list[tuple["Image.Image", str]]:
    return list({id(image): (image, text) for image, text in asked}.values())
