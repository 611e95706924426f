"""s(x, y): how well caption x describes image y, and what every scorer must be able to do.

A scorer encodes an image once into an opaque state; after that it answers any number of questions
about that state in batches that mix pairs. Explorers never see a model: they ask for captions,
the driver (`backend.trajectories.driver`) collects the questions of all live pairs and puts them
to the scorer in one call a round.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from PIL import Image

#: What `encode_images` returns for one image. Only the scorer that made it may look inside.
ImageState = Any
FloatArray = NDArray[np.float32]


@dataclass(frozen=True)
class ScorerInfo:
    """What produced a score: stored with every run, shown beside every number."""

    kind: str  #: "clip", "blip-itc" or "blip-itm"
    model: str  #: hub name or directory, as the user gave it
    revision: str  #: commit of the hub, or a digest of the local weights
    device: str
    context_words_note: str  #: e.g. "at most 35 tokens; the rest of a caption is not read"
    limits: str = ""  #: plain warning for people, e.g. "this model only knows drawn scenes"


@runtime_checkable
class Scorer(Protocol):
    """Higher s means a better match; `text_embeddings` give c, the similarity of two captions."""

    info: ScorerInfo

    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        """One state per image, in order. Images are RGB of any size."""
        ...

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        """For each (state, captions): scores s, shape [len(captions)], float32.

        Cosines lie in [-1, 1], match probabilities in [0, 1]. Captions may be empty strings.
        Equal captions of one state get equal scores.
        """
        ...

    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        """Unit vectors, shape [len(captions), d], float32; c is their dot product."""
        ...

    def words_read(self, caption: str) -> int:
        """How many of the caption's words (`Caption.parse`) the model reads before its context
        ends. Smaller than the caption's length means: truncated, and the pair must say so."""
        ...
