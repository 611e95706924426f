"""Helpers shared by all checkpoint loaders, and the `Family` record that describes each loader.

A *family* is a checkpoint format. Its module defines `FAMILY`, which is registered by one line in
`backend.engine.scoring.loading`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from backend.engine import hub
from backend.engine.scoring.protocol import Scorer, ScorerInfo
from backend.engine.scoring.revision import limits_of, revision_of

ADVICE = (
    "Name a preset such as fast or thorough, a directory, a hub name such as "
    "Salesforce/blip-itm-base-coco, open_clip:ARCHITECTURE@PRETRAINED, a .pth of LAVIS, "
    "lavis:NAME, or vqa:NAME_OR_DIR for a vision-language model."
)


class Request(NamedTuple):
    """A checkpoint to load; `kind` None selects the checkpoint's default score."""

    model: str
    kind: str | None
    device: str
    precision: str


@dataclass(frozen=True)
class Family:
    """A checkpoint format and the kinds of score it provides."""

    kinds: tuple[str, ...]
    load: Callable[[Request], Scorer]
    #: Whether a model's name alone identifies this family.
    named: Callable[[str], bool] = lambda model: False
    #: The `model_type` values of a transformers config.json that belong to this family.
    model_types: tuple[str, ...] = ()
    #: The kind that embeds images and captions in one space; None if there is none.
    embedding: str | None = None


def load_weights(model: str, model_class: Any, optional: tuple[str, ...] = ()) -> Any:
    """The model with all of its weights; names with a prefix in `optional` may be missing."""
    return hub.load_weights(
        model_class, model, advice=ADVICE, optional=optional, dtype=torch.float32
    )


def info_of(
    kind: str, model: str, device: str, precision: str, loaded: Any, context: int
) -> ScorerInfo:
    return ScorerInfo(
        kind=kind,
        model=model,
        revision=revision_of(model, getattr(loaded.config, "_commit_hash", None)),
        device=device,
        limits=limits_of(model),
        precision=precision,
        auxiliary="ITC" if kind == "blip-itm" else "",
    )


def id_within(text: Any, key: str) -> int | None:
    """A special token id from a configuration; None if it is missing or outside the vocabulary,
    as class defaults made for another vocabulary are."""
    value = getattr(text, key, None)
    return int(value) if isinstance(value, int) and value < int(text.vocab_size) else None
