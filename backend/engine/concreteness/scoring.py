"""Concreteness of captions in [0, 1], by the embedded regression or a model from the hub.

A word contributes ICC(caption) - ICC(caption without it): negative if the caption would be more
concrete without it. Displayed ICC values are clipped to [0, 1], the differences are not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from backend.engine.captions import Caption
from backend.engine.concreteness import embedded
from backend.engine.model_fit import check_tokenizer
from backend.errors import ModelMismatch, check_model_packages

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
    or two (the second is *concrete*); None is the embedded one. An empty caption scores 0, because
    it describes nothing. `clipped` False: raw scores, which may lie outside [0, 1], so that extreme
    captions remain distinguishable. Raises ModelUnavailable or ModelMismatch.
    """
    texts = [caption for caption in captions if caption.strip()]
    ratings = iter(embedded.load()(texts) if model is None else _by_model(texts, model, device))
    scores = [next(ratings) if caption.strip() else 0.0 for caption in captions]
    return [min(1.0, max(0.0, score)) for score in scores] if clipped else scores


def _by_model(captions: Sequence[str], name: str, device: str | None) -> list[float]:
    check_model_packages()
    import torch

    model, tokenizer = _load(name, device or "cpu")
    ratings: list[float] = []
    for first in range(0, len(captions), _BATCH):
        inputs = tokenizer(
            list(captions[first : first + _BATCH]),
            return_tensors="pt", padding=True, truncation=True,
        ).to(model.device)  # fmt: skip
        with torch.inference_mode():
            logits = model(**inputs).logits.float()
        values = logits[:, 0] if logits.shape[1] == 1 else logits.softmax(-1)[:, 1]
        ratings += values.tolist()
    return ratings


@lru_cache(maxsize=2)
def _load(name: str, device: str) -> tuple[Any, Any]:
    from backend.engine import hub  # must be imported first, see its docstring

    # isort: split
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    what = "The concreteness model"
    model, report = hub.load(
        AutoModelForSequenceClassification, name, what, _ADVICE, output_loading_info=True
    )
    tokenizer = hub.load(AutoTokenizer, name, what, _ADVICE)
    if report["missing_keys"] or model.config.num_labels > 2:
        raise ModelMismatch(f"'{name}' is not a model with one rating or two classes. {_ADVICE}")
    check_tokenizer(name, tokenizer, model.get_input_embeddings().num_embeddings)
    return model.eval().to(device), tokenizer


#: Only the beginning of a very long caption is explained.
MOST_WORDS = 40


@dataclass(frozen=True)
class Contribution:
    """Characters [start, end) of the caption, and their contribution to its ICC."""

    start: int
    end: int
    gain: float


def contributions(
    caption: str, model: str | None = None, device: str | None = None
) -> tuple[float, tuple[Contribution, ...]]:
    """The caption's ICC and the contribution of each of its first MOST_WORDS words, in order.

    `model` as for `score_captions`, whose errors it raises.
    """
    original = Caption.parse(caption)
    spans = original.spans[:MOST_WORDS]
    without = [original.without([index]) for index in range(len(spans))]
    whole, *others = score_captions([caption, *without], model, device, clipped=False)
    return min(1.0, max(0.0, whole)), tuple(
        Contribution(start, end, whole - other)
        for (start, end), other in zip(spans, others, strict=True)
    )
