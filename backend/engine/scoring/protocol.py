"""s(x, y): how well a caption describes an image, and the interface every scorer implements.

A scorer encodes an image once into an opaque state; a *session* then scores any number of texts
against such states, in calls that mix pairs. Texts are token sequences, because explorers that
replace tokens produce sequences that no caption tokenises to. A session owns the caches that
requests share (an image's keys and values, common prefixes) and discards them when it ends.
"""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.captions import Caption


@dataclass
class Work:
    """Units of work of a text tower.

    * `images`: images whose keys and values were computed, once per image for all layers;
    * `sequences`: distinct texts scored; the last layer is computed for one token of each;
    * `tokens`: tokens that passed through all layers but the last;
    * `projections`: distinct (token, position) whose first projection was computed;
    * `attended`: (query, key) pairs of self-attention in a layer before the last;
    * `attended_last`: the same in the last layer;
    * `seen`: (query, patch) pairs of cross-attention in a layer before the last;
    * `seen_last`: the same in the last layer.
    """

    images: int = 0
    sequences: int = 0
    tokens: int = 0
    projections: int = 0
    attended: int = 0
    attended_last: int = 0
    seen: int = 0
    seen_last: int = 0


#: What `encode_images` returns for one image; opaque to all but the scorer that created it.
ImageState = Any
FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
#: A caption's own tokens, without the special tokens that a model adds around them.
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class ScorerInfo:
    """Origin of a score: stored with every run and shown next to every score."""

    kind: str  #: one of `backend.engine.scoring.loading.KINDS`
    model: str  #: hub name or directory, as the user gave it
    revision: str  #: hub commit, or a digest of the local weights
    device: str
    limits: str = ""  #: warning shown to users, e.g. "this model only knows drawn scenes"
    precision: str = "float32"
    #: Name of a second score of the same model, the dot product of `image_embeddings` and
    #: `Session.embed`, e.g. ITC's cosine for ITM. Empty if there is none, or if it is s itself.
    auxiliary: str = ""
    #: Parameters of the score itself, which distinguish it from others of the same model.
    parameters: Mapping[str, float | str] = field(default_factory=dict, hash=False)
    #: Whether a pair's score depends on the other pairs in its dataset (LEMoN).
    compares_pairs: bool = False


class TokenReader(Protocol):
    """Captions to tokens and back."""

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        """Each caption's own tokens, truncated to the model's context."""
        ...

    def spans(self, caption: str) -> list[tuple[int, int]]:
        """The half-open character range of each of the caption's own tokens."""
        ...

    def decode(self, tokens: Tokens) -> str:
        """The tokens as readable text."""
        ...

    def words_read(self, caption: str) -> int:
        """How many of the caption's words (`Caption.parse`) fit into the model's context.

        If fewer than the caption has, the caption is truncated and the pair must be marked so."""
        ...

    def replaceable(self, whole_words: bool) -> BoolArray:
        """Mask [vocabulary] of the tokens that may replace another: no special tokens, and with
        `whole_words` only tokens that are complete words."""
        ...


@runtime_checkable
class WordReader(TokenReader, Protocol):
    """A reader that may know the tokens of a caption's words in advance."""

    def tokens_of_words(self, caption: Caption) -> list[Tokens] | None:
        """The tokens of each word that the model reads, with the punctuation around it, if any of
        these words in a row have theirs in a row; None if that is not certain."""
        ...


class Session(Protocol):
    """Scores texts against images, caching what requests share."""

    @property
    def work(self) -> Work:
        """The work done so far."""
        ...

    @property
    def embedding_work(self) -> Work:
        """The additional work done by `embed`; none if scores are computed from its vectors."""
        ...

    @property
    def live(self) -> int:
        """How many images may be in use at a time without exhausting memory."""
        ...

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        """For each (state, texts): scores s, shape [len(texts)].

        Cosines are in [-1, 1], match probabilities in [0, 1]. Texts may be empty. Equal texts for
        one state get equal scores.
        """
        ...

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        """Unit vectors, shape [len(texts), d]; c is their dot product."""
        ...

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        """For each (state, text): the first-order gain in s from replacing token j with v.

        Shape [len(text), vocabulary]: the gradient of s at token j's embedding times e(v). The
        e(w_j) term is the same for all v and omitted (TRACED, Algorithm 3).
        """
        ...


#: Maps images and captions to their unit vectors, in order: [images, d] and [captions, d].
Embed = Callable[[Sequence[Image.Image], Sequence[str]], tuple[FloatArray, FloatArray]]


class PairSource(Protocol):
    """All pairs of a dataset, for a scorer that compares them with each other."""

    @property
    def identity(self) -> Hashable:
        """Equal identities mean the same pairs, so that earlier preparation remains valid."""
        ...

    def vectors(
        self, model: str, embed: Embed
    ) -> Iterator[tuple[list[int], FloatArray, FloatArray]]:
        """(keys, image vectors, caption vectors) of the pairs with a readable image, in batches, by
        ascending key: stored vectors of `model` where available, otherwise computed by `embed`."""
        ...

    def training_keys(self) -> NDArray[np.int64] | None:
        """Keys of the pairs that may be neighbours: those of the dataset's training part, None if
        it has none, so that all pairs may."""
        ...

    @property
    def objective(self) -> str:
        """Name of the objective that is maximised on the labels (LEMoN's)."""
        ...

    def labels(self) -> Mapping[int, bool] | None:
        """Whether each labelled pair's caption is wrong, by key; None if the scorer must not be
        fitted to labels."""
        ...


@runtime_checkable
class Scorer(Protocol):
    """Higher s means a better match. The dot product of two `text_embeddings` is c, the similarity
    of two captions."""

    @property
    def info(self) -> ScorerInfo: ...

    @property
    def reader(self) -> TokenReader: ...

    def prepare(self, pairs: PairSource) -> None:
        """Called before a dataset is scored; scorers that compare pairs read all of them here.

        Cheap if nothing has changed since the last call."""
        ...

    @property
    def prepared(self) -> Any:
        """The result of `prepare`, for `take_over` by the same scorer in another process."""
        ...

    def take_over(self, preparation: Any) -> None: ...

    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        """One state per image, in order. Images are RGB of any size; `image.info` has the picture's
        metadata and, if it belongs to a dataset, its `file_name` there."""
        ...

    def of_pair(self, state: ImageState, key: int) -> ImageState:
        """The state tagged as pair `key`, so that scorers that compare pairs can identify it."""
        ...

    def image_embeddings(self, states: Sequence[ImageState]) -> FloatArray | None:
        """Unit vectors for comparing images, shape [states, d]; None if there are none.

        d is the same for all images of a model."""
        ...

    def open_session(self) -> Session: ...

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        """`Session.score` for captions, in a new session."""
        ...

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        """`Session.embed` for captions, in a new session."""
        ...


@runtime_checkable
class Reducing(Protocol):
    """A scorer whose images can be reduced to what its image tower reads before they are encoded,
    in any thread: what is left is much smaller, and an accelerator need not wait for it."""

    def reduced(self, image: Image.Image) -> Any:
        """What `encode_images` takes in place of the image."""
        ...


@runtime_checkable
class Overlapping(Protocol):
    """A scorer whose sessions may compute at the same time, each called by a thread of its own:
    while an accelerator computes what one was asked, the processor prepares the next call of
    another."""

    def open_sessions(self) -> Sequence[Session]:
        """As many as the device gains from, at least one; they change nothing that they share."""
        ...


#: Maps views of an image and captions to the scores of the captions for each view, [views,
#: captions], as log-odds, which do not saturate. Views [views, rows, columns]: True where a patch
#: is seen; not less than one patch of each.
Viewer = Callable[[BoolArray, Sequence[str]], FloatArray]
#: (x0, y0, x1, y1) in pixels, from the upper left corner.
Box = tuple[float, float, float, float]


@runtime_checkable
class SeesParts(Protocol):
    """A scorer whose picture is a grid of patches, of which any can be left out. Vision-language
    models and scorers that compare pairs are none."""

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        ...

    def field_of_view(self, size: tuple[int, int]) -> Box:
        """The part of a picture of `size` (width, height) that the grid covers, in its pixels."""
        ...

    def viewers(self, images: Sequence[Image.Image]) -> Iterator[Viewer]:
        """One for each image, in order. The images are read together, each of them once."""
        ...


class InSessions:
    """Captions are scored in a session of their own."""

    reader: TokenReader

    @abstractmethod
    def open_session(self) -> Session: ...

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        return self.open_session().score(
            [(state, self.reader.tokenise(captions)) for state, captions in requests]
        )

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        return self.open_session().embed(self.reader.tokenise(captions))


class Independent(InSessions):
    """Base class of scorers whose score of a pair does not depend on other pairs."""

    def prepare(self, pairs: PairSource) -> None:
        """Nothing to do."""

    @property
    def prepared(self) -> None:
        return None

    def take_over(self, preparation: None) -> None:
        """Nothing to do."""

    def of_pair(self, state: ImageState, key: int) -> ImageState:
        return state


def logit_scale_of(scorer: Scorer, usual: float) -> float:
    """tau, by which a model multiplies its cosines before a softmax: `exp(logit_scale)` for CLIP,
    SigLIP and open_clip, `1 / temp` for BLIP's ITC if the checkpoint has it (Hugging Face's does
    not); otherwise `usual`."""
    model: Any = getattr(scorer, "model", None)
    scale, temperature = getattr(model, "logit_scale", None), getattr(model, "temp", None)
    import torch

    with torch.inference_mode():
        if isinstance(scale, torch.Tensor):
            return float(scale.float().exp())
        if isinstance(temperature, torch.Tensor):
            return float(1 / temperature.float())
    return usual
