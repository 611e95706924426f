"""Loads a scorer from a hub name or a directory; the registry of checkpoint families.

To add a family, write a module that defines `FAMILY` and list it in `FAMILIES`, or offer it from a
package of your own or a feature (`backend.plugins`). A score computed from another scorer's
embeddings is an `EmbeddingScore` of such a package.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from backend import plugins
from backend.engine import hub
from backend.engine.model_fit import probe
from backend.engine.scoring import blip, clip, open_clip_model, siglip
from backend.engine.scoring.checkpoints import ADVICE, QUANTISATIONS, Family, Request
from backend.engine.scoring.cleaning import Reading, reading_of
from backend.engine.scoring.dual_encoder import DualEncoder, EmbeddingScore
from backend.engine.scoring.protocol import Scorer
from backend.engine.scoring.published_pictures import as_published
from backend.errors import ModelMismatch, ModelUnavailable, SettingsError

PRECISIONS = ("float32", "bfloat16", *QUANTISATIONS)
FAMILIES: tuple[Family, ...] = (
    clip.FAMILY,
    blip.FAMILY,
    siglip.FAMILY,
    open_clip_model.FAMILY,
    *plugins.load("scorers", Family),
)
#: Scores computed from the embeddings of any family that has them.
BUILT_ON_EMBEDDINGS: dict[str, Callable[[DualEncoder], Scorer]] = {
    score.kind: score.build for score in plugins.load("embedding_scores", EmbeddingScore)
}
KINDS: tuple[str, ...] = (
    *dict.fromkeys(kind for family in FAMILIES for kind in family.kinds),
    *BUILT_ON_EMBEDDINGS,
)


def choose_device(device: str | None = None) -> str:
    """`device` if given, otherwise the first available of cuda, mps, cpu.

    Raises SettingsError for a device that this machine does not have.
    """
    devices = ["cpu"]
    if torch.backends.mps.is_available():
        devices.insert(0, "mps")
    if torch.cuda.is_available():
        devices.insert(0, "cuda")
    if device is None:
        return devices[0]
    if device.split(":")[0] not in devices:
        raise SettingsError(f"There is no device '{device}' here; there are: {', '.join(devices)}.")
    kind, _, number = device.partition(":")
    if kind == "cuda" and number and number not in map(str, range(torch.cuda.device_count())):
        raise SettingsError(
            f"There is no device '{device}' here; there are {torch.cuda.device_count()} GPUs, "
            "cuda:0 the first."
        )
    return device


def choose_devices(names: str) -> tuple[str, ...]:
    """Devices by name, separated by commas; "all": every GPU, or the best device without one.

    Raises SettingsError for a device that this machine does not have.
    """
    if names == "all":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        return tuple(f"cuda:{number}" for number in range(count)) or (choose_device(),)
    return tuple(choose_device(name.strip()) for name in names.split(","))


def choose_precision(device: str, precision: str | None = None) -> str:
    """`precision` if given, otherwise bfloat16 on CUDA devices with native support, else float32.

    For the effect of bfloat16 see BENCHMARKS.md ("Precision"). Raises SettingsError for any other,
    and for quantised weights where there is no accelerator.
    """
    if precision not in (None, *PRECISIONS):
        raise SettingsError(f"There is no precision '{precision}'; use {', '.join(PRECISIONS)}.")
    if precision in QUANTISATIONS and device == "cpu":
        raise SettingsError(
            f"The precision {precision} needs an accelerator; this machine computes on its CPU. "
            "Use float32, or a smaller model."
        )
    return precision or ("bfloat16" if hub.native_bfloat16(device) else "float32")


def load_scorer(
    model: str,
    kind: str | None = None,
    device: str | None = None,
    precision: str | None = None,
    reading: Reading = "as-trained",
) -> Scorer:
    """Load `model`; `kind` is one of KINDS, None selects the checkpoint's default; `reading`: see
    `backend.engine.scoring.cleaning`.

    Raises ModelUnavailable if it cannot be loaded, ModelMismatch if it is of another type or lacks
    weights, SettingsError for an unknown kind or an unavailable device.
    """
    if kind is not None and kind not in KINDS:
        raise SettingsError(f"There is no scorer '{kind}'; use one of: {', '.join(KINDS)}.")
    where = choose_device(device)
    request = Request(model, kind, where, choose_precision(where, precision))
    family = _family_of(model)
    if request.precision in QUANTISATIONS and not family.is_quantisable:
        raise SettingsError(
            f"The precision {request.precision} is for vision-language models (vqa:NAME_OR_DIR); "
            f"'{model}' is none. Use float32 or bfloat16."
        )
    if kind in BUILT_ON_EMBEDDINGS and family.embedding is not None:
        base = _load(family, request._replace(kind=family.embedding), reading)
        assert isinstance(base, DualEncoder)
        return BUILT_ON_EMBEDDINGS[kind](base)
    if kind is not None and kind not in family.kinds:
        raise ModelMismatch(f"'{model}' can be {' or '.join(family.kinds)}, not {kind}. {ADVICE}")
    return _load(family, request, reading)


def _load(family: Family, request: Request, reading: Reading) -> Scorer:
    """The model, which reads captions and pictures as its training did unless it is to read them
    as transformers does; its runs say which."""
    scorer: Any = family.load(request)
    if isinstance(scorer, DualEncoder):
        _check_numbers(request.model, scorer)
    cleaning = family.cleaning
    if cleaning is None or reading_with_effect(request.model, reading) == "as-written":
        return scorer
    parameters = {**scorer.info.parameters, "text": cleaning.name}
    as_trained: dict[str, Any] = {"reader": replace(scorer.reader, clean=cleaning)}
    processor = getattr(scorer, "image_processor", None)
    if processor is not None and (published := as_published(processor)) is not processor:
        as_trained["image_processor"] = published
        parameters["pictures"] = "torchvision"
    info = replace(scorer.info, parameters=parameters)
    with_reading: Scorer = replace(scorer, info=info, **as_trained)
    return with_reading


def _check_numbers(model: str, scorer: DualEncoder) -> None:
    """Raises ModelMismatch for a model that gives no number for a test picture: broken weights.
    Neighbours of such vectors would be chosen at random."""
    (state,) = scorer.encode_images([probe()])
    (scores,) = scorer.open_session().score([(state, scorer.reader.tokenise(["a picture"]))])
    if not np.isfinite(scores).all():
        raise ModelMismatch(
            f"'{model}' gives no number for a test picture (NaN or infinity): its weights are "
            f"broken, or too large for the precision {scorer.info.precision}."
        )


def reading_with_effect(model: str, reading: Reading) -> Reading:
    """ "as-written" also for a model that was trained on captions as they are, as far as its name
    and its folder say."""
    family = next((family for family in FAMILIES if family.named(model)), None)
    if (family is not None and family.cleaning is None) or reading_of(model) == "as-written":
        return "as-written"
    return reading


def _family_of(model: str) -> Family:
    """The family by the model's name or its config.json. Raises ModelUnavailable, ModelMismatch."""
    for family in FAMILIES:
        if family.named(model):
            return family
    if Path(model).is_dir() and not (Path(model) / "config.json").is_file():
        raise ModelUnavailable(f"The directory '{model}' holds no config.json. {ADVICE}")
    from transformers import AutoConfig

    model_type = hub.load(AutoConfig, model, advice=ADVICE).model_type
    for family in FAMILIES:
        if model_type in family.model_types:
            return family
    raise ModelMismatch(
        f"'{model}' is a {model_type} model; scorers are CLIP, SigLIP or BLIP "
        f"image-text retrieval models. {ADVICE}"
    )
