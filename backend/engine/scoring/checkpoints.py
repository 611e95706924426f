"""Helpers shared by all checkpoint loaders; what identifies the exact weights; and the `Family`
record.

A *family* is a checkpoint format. Its module defines `FAMILY`, which is registered by one line in
`backend.engine.scoring.loading`.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from backend.datasets.safe_files.regular_files import open_regular
from backend.engine import hub
from backend.engine.hub_cache import commit_of
from backend.engine.scoring.cleaning import Cleaning, stated_by
from backend.engine.scoring.protocol import Scorer, ScorerInfo

#: Weights of so few bits, on an accelerator.
QUANTISATIONS = ("4bit", "8bit")
#: Bytes read at each end of a file: enough to tell checkpoints apart, cheap for large files.
_SAMPLE = 1 << 20


def revision_of(model: str, commit: str | None = None) -> str:
    """`commit` for a hub name; for a directory a digest of its configuration and weights.

    The digest covers each file's name, size, and first and last megabyte. Truncated to 12
    characters; "unknown" if there is no commit.
    """
    folder = Path(model)
    if not folder.is_dir():
        return (commit or commit_of(model) or "unknown")[:12]
    digest = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        if (
            path.suffix not in (".json", ".safetensors", ".bin", ".txt")
            or path.name == "traced.json"
        ):
            continue
        size = path.stat().st_size
        digest.update(f"{path.name}:{size}\n".encode())
        with open_regular(path) as file:
            digest.update(file.read(_SAMPLE))
            file.seek(max(0, size - _SAMPLE))
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:12]


def weights_digest(model: Any) -> str:
    """A digest of the loaded weights: their names, shapes and first 64 values."""
    digest = hashlib.sha256()
    for name, weight in model.state_dict().items():
        digest.update(f"{name}:{tuple(weight.shape)}".encode())
        digest.update(weight.flatten()[:64].float().numpy().tobytes())
    return digest.hexdigest()[:12]


def limits_of(model: str) -> str:
    """The limitations stated in the model's `traced.json`; empty if there are none."""
    return str(stated_by(model).get("limits", ""))


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
    #: What its training did to captions and its tokenizer does not; None: nothing.
    cleaning: Cleaning | None = None
    #: Whether its weights may be quantised.
    is_quantisable: bool = False


def load_weights(model: str, model_class: Any, optional: tuple[str, ...] = ()) -> Any:
    """The model with all of its weights; names with a prefix in `optional` may be missing."""
    return hub.load_weights(
        model_class, model, advice=ADVICE, optional=optional, dtype=torch.float32
    )


def info_of(
    kind: str, model: str, device: str, precision: str, network: Any, context: int
) -> ScorerInfo:
    return ScorerInfo(
        kind=kind,
        model=model,
        revision=revision_of(model, getattr(network.config, "_commit_hash", None)),
        device=device,
        limits=limits_of(model),
        precision=precision,
        auxiliary="ITC" if kind == "blip-itm" else "",
    )
