"""Concreteness of captions in [0, 1], by the embedded regression or a model from the hub."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch

from backend.concreteness import embedded
from backend.errors import ModelMismatch, not_loaded

#: Captions below this look abstract. In `captions.tsv`, cross-validated, nine of ten rated 0 lie
#: below it and nine of ten rated 3 above.
ABSTRACT_THRESHOLD = 0.35
_BATCH = 64
_ADVICE = "Give a directory or hub name such as moranyanuka/icc, or leave it out."


def score_captions(
    captions: list[str],
    model: str | None = None,
    device: str | None = None,
    clipped: bool = True,
) -> list[float]:
    """ICC of each caption; higher is more concrete, [0, 1].

    `model`: any sequence-classification model by hub name or directory with one output (a rating)
    or two (the second is *concrete*); None is the embedded one. An empty caption is 0: it describes
    nothing. `clipped` False: as the model says it, also below 0 and above 1, so that captions can
    be told apart there. Raises ModelUnavailable or ModelMismatch.
    """
    filled = [caption for caption in captions if caption.strip()]
    rated = iter(embedded.load()(filled) if model is None else _by_model(filled, model, device))
    scores = [next(rated) if caption.strip() else 0.0 for caption in captions]
    return [min(1.0, max(0.0, score)) for score in scores] if clipped else scores


@torch.inference_mode()
def _by_model(captions: Sequence[str], name: str, device: str | None) -> list[float]:
    model, tokenizer = _load(name, device or "cpu")
    found: list[float] = []
    for first in range(0, len(captions), _BATCH):
        inputs = tokenizer(
            list(captions[first : first + _BATCH]),
            return_tensors="pt", padding=True, truncation=True,
        ).to(model.device)  # fmt: skip
        logits = model(**inputs).logits.float()
        rated = logits[:, 0] if logits.shape[1] == 1 else logits.softmax(-1)[:, 1]
        found += rated.tolist()
    return found


@lru_cache(maxsize=2)
def _load(name: str, device: str) -> tuple[Any, Any]:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    try:
        model, report = AutoModelForSequenceClassification.from_pretrained(
            name, output_loading_info=True
        )
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError, KeyError) as problem:
        raise not_loaded("The concreteness model", name, problem, _ADVICE) from problem
    if report["missing_keys"] or model.config.num_labels > 2:
        raise ModelMismatch(f"'{name}' is no model with one rating or two classes. {_ADVICE}")
    return model.eval().to(device), tokenizer
