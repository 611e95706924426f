"""s(x, y): how well caption x describes image y, and what every scorer must be able to do.

A scorer encodes an image once into an opaque state; after that a *session* answers any number of
questions about such states, in calls that mix pairs. Questions are token sequences: explorers that
exchange tokens ask for sequences no caption would give. A session owns what questions can share
(an image's keys and values, the beginnings of sequences) and forgets it with the session.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.scoring.work import Work

#: What `encode_images` returns for one image. Only the scorer that made it may look inside.
ImageState = Any
FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
#: A caption's own tokens, without those that a model puts before and behind.
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class ScorerInfo:
    """What produced a score: stored with every run, shown beside every number."""

    kind: str  #: one of `backend.engine.scoring.loading.KINDS`
    model: str  #: hub name or directory, as the user gave it
    revision: str  #: commit of the hub, or a digest of the local weights
    device: str
    context_words_note: str  #: e.g. "at most 35 tokens; the rest of a caption is not read"
    limits: str = ""  #: plain warning for people, e.g. "this model only knows drawn scenes"
    precision: str = "float32"
    #: Name of another score of the same model, the dot product of `image_embeddings` and
    #: `Session.embed`: ITC's cosine beside ITM. Empty: there is none, or it is s itself.
    auxiliary: str = ""
    #: Weights of the score itself, by which it differs from another of the same model.
    parameters: Mapping[str, float] = field(default_factory=dict, hash=False)
    #: The score of a pair depends on the other pairs of its dataset (LEMoN).
    compares_pairs: bool = False


class TokenReader(Protocol):
    """Captions to tokens and back."""

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        """Each caption's own tokens, cut where the model's context ends."""
        ...

    def spans(self, caption: str) -> list[tuple[int, int]]:
        """The characters of each of the caption's own tokens, as half-open ranges."""
        ...

    def decode(self, tokens: Tokens) -> str:
        """What a person reads when the model reads these tokens."""
        ...

    def words_read(self, caption: str) -> int:
        """How many of the caption's words (`Caption.parse`) the model reads before its context
        ends. Smaller than the caption's length means: truncated, and the pair must say so."""
        ...

    def replaceable(self, whole_words: bool) -> BoolArray:
        """Which tokens may replace another, shape [vocabulary]: none of the special ones, and on
        request only those that are a word by themselves."""
        ...


class Session(Protocol):
    """Questions about images, and what their answers have in common."""

    @property
    def work(self) -> Work:
        """What has been computed so far."""
        ...

    @property
    def embedding_work(self) -> Work:
        """What `embed` has cost beyond that; nothing where scores come from the same vectors."""
        ...

    @property
    def live(self) -> int:
        """How many images may be asked about at a time before memory runs short."""
        ...

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        """For each (state, texts): scores s, shape [len(texts)].

        Cosines lie in [-1, 1], match probabilities in [0, 1]. Texts may be empty. Equal texts of
        one state get equal scores.
        """
        ...

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        """Unit vectors, shape [len(texts), d]; c is their dot product."""
        ...

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        """For each (state, text): how much s would rise, to first order, if token j became v.

        Shape [len(text), vocabulary]: the gradient of s at token j's embedding times e(v); e(w_j)
        itself is the same for all v and left out (TRACED, Algorithm 3).
        """
        ...


#: Unit vectors of images and of captions, in order: shapes [images, d] and [captions, d].
Embed = Callable[[Sequence[Image.Image], Sequence[str]], tuple[FloatArray, FloatArray]]


class PairSource(Protocol):
    """All pairs of a dataset, for a scorer that compares them with each other."""

    @property
    def identity(self) -> Hashable:
        """Equal: the same pairs; what was prepared for them still holds."""
        ...

    def vectors(
        self, model: str, embed: Embed
    ) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
        """(keys, image vectors, caption vectors) of the pairs with a readable image, in parts, by
        ascending key: as `model` has made them earlier, or as `embed` makes them now."""
        ...

    def labels(self) -> Mapping[int, bool] | None:
        """Whether the caption of a pair is wrong, by key, of those for which that is known; None:
        the scorer is not to learn from it."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Higher s means a better match; `text_embeddings` give c, the similarity of two captions."""

    @property
    def info(self) -> ScorerInfo: ...

    @property
    def reader(self) -> TokenReader: ...

    def prepare(self, pairs: PairSource) -> None:
        """Called before pairs of a dataset are scored: whoever compares pairs reads the others
        here. Cheap when nothing has changed since."""
        ...

    @property
    def prepared(self) -> Any:
        """What `prepare` has made, for `take_over` of the same scorer in another process."""
        ...

    def take_over(self, prepared: Any) -> None: ...

    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        """One state per image, in order. Images are RGB of any size."""
        ...

    def of_pair(self, state: ImageState, key: int) -> ImageState:
        """The state as that of pair `key`: who compares pairs must know which one this is."""
        ...

    def image_embeddings(self, states: Sequence[ImageState]) -> FloatArray | None:
        """Unit vectors by which images can be compared, shape [states, d]; None if there are none.

        d is the same for all images of a model."""
        ...

    def open_session(self) -> Session: ...

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        """`Session.score` for captions, in a session of its own."""
        ...

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        """`Session.embed` for captions, in a session of its own."""
        ...
