"""Checkpoints that scorers are made of: what every loader shares, and what a loader says of itself.

A *family* is a form in which checkpoints come. Its module ends with a `FAMILY`; one line in
`backend.engine.scoring.loading` makes it known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from backend.engine import hub
from backend.engine.scoring.protocol import Scorer, ScorerInfo
from backend.engine.scoring.revision import limits_of, revision_of

ADVICE = (
    "Give --model a preset such as fast or thorough, a directory, a hub name such as "
    "Salesforce/blip-itm-base-coco, open_clip:ARCHITECTURE@PRETRAINED, a .pth of LAVIS, or "
    "lavis:NAME."
)


class Request(NamedTuple):
    """What is to be loaded: `kind` None takes the checkpoint's own kind of score."""

    model: str
    kind: str | None
    device: str
    precision: str


@dataclass(frozen=True)
class Family:
    """One form of checkpoints, and the kinds of score that they give."""

    kinds: tuple[str, ...]
    load: Callable[[Request], Scorer]
    #: Whether a model's name alone says that it is of this form.
    named: Callable[[str], bool] = lambda model: False
    #: The model types in a config.json of transformers that are of this form.
    model_types: tuple[str, ...] = ()
    #: The kind whose images and captions are vectors of one space; None: there is none.
    embedding: str | None = None


def load_weights(model: str, model_class: Any, optional: tuple[str, ...] = ()) -> Any:
    """The model with all of its weights; `optional` beginnings of names may be missing."""
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
        context_words_note=f"at most {context} tokens; the rest of a caption is not read",
        limits=limits_of(model),
        precision=precision,
        auxiliary="ITC" if kind == "blip-itm" else "",
    )


def id_within(text: Any, key: str) -> int | None:
    """A special id of a configuration if it can be one: defaults of another size cannot."""
    value = getattr(text, key, None)
    return int(value) if isinstance(value, int) and value < int(text.vocab_size) else None
