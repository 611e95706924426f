"""A sentence encoder in the published layout of sentence-transformers, without that package."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from backend.engine import hub
from backend.engine.hub_cache import snapshot_of
from backend.errors import ModelUnavailable

_BATCH = 64
_MODULES = ("Transformer", "Pooling", "Normalize")
#: The names of today's `pooling_mode` for the switches of earlier releases.
_POOLING = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}


class SentenceModel:
    """A transformer whose token vectors are pooled to one unit vector per text.

    `name`: a directory, or a hub name that has been downloaded."""

    def __init__(self, name: str) -> None:
        from transformers import AutoModel, AutoTokenizer

        what, advice = "The sentence model", "Give a directory of sentence-transformers."
        with hub.failures_explained(what, name, advice):
            self._pooling, self._length = _layout(snapshot_of(name) or Path(name))
        self._tokenizer = hub.load(AutoTokenizer, name, what, advice)
        self._model = hub.load_weights(AutoModel, name, what, advice, optional=("pooler.",))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape [texts, width]. Texts of similar length share a batch."""
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        vectors = np.empty((len(texts), self._model.config.hidden_size), np.float32)
        for start in range(0, len(texts), _BATCH):
            rows = order[start : start + _BATCH]
            tokens = self._tokenizer(
                [texts[row].strip() for row in rows], padding=True, truncation=True,
                max_length=self._length, return_tensors="pt",
            )  # fmt: skip
            with torch.inference_mode():
                states = self._model(**tokens).last_hidden_state
                if self._pooling == "cls":
                    embeddings = states[:, 0]
                else:
                    mask = tokens["attention_mask"][..., None]
                    embeddings = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
                vectors[rows] = torch.nn.functional.normalize(embeddings, dim=-1).numpy()
        return vectors


def _layout(folder: Path) -> tuple[str, int | None]:
    """How the model pools ("mean" or "cls") and the longest text that it takes, in tokens.

    Raises ModelUnavailable if it consists of other modules. Without `modules.json`: mean pooling.
    """
    pooling: dict[str, Any] = {}
    if (modules := folder / "modules.json").is_file():
        for module in json.loads(modules.read_bytes()):
            kind = str(module["type"])
            name = kind.rpartition(".")[2]
            if not kind.startswith("sentence_transformers.") or name not in _MODULES:
                raise ModelUnavailable(
                    f"The sentence model '{folder}' has a module '{kind}', which is not supported."
                )
            if name == "Pooling":
                pooling = json.loads((folder / module["path"] / "config.json").read_bytes())
    modes = {key for key, value in pooling.items() if key.startswith("pooling_mode_") and value}
    mode = pooling.get("pooling_mode") or "+".join(sorted(modes)) or "mean"
    mode = _POOLING.get(str(mode), mode)
    if mode not in ("mean", "cls"):
        raise ModelUnavailable(f"The sentence model '{folder}' pools by '{mode}': not supported.")
    limit = folder / "sentence_bert_config.json"
    return mode, json.loads(limit.read_bytes()).get("max_seq_length") if limit.is_file() else None
