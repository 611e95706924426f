"""A scorer from a hub name or a directory, through Hugging Face classes."""

from pathlib import Path
from typing import Any

import torch

from backend.errors import ModelMismatch, ModelUnavailable, SettingsError
from backend.scoring.blip import CONTEXT, BlipScorer
from backend.scoring.clip import ClipScorer
from backend.scoring.protocol import Scorer, ScorerInfo
from backend.scoring.revision import limits_of, revision_of
from backend.scoring.tokens import HubReader

PRECISIONS = ("float32", "bfloat16")
KINDS = ("clip", "blip-itc", "blip-itm")
#: A model type of transformers, and which kinds of score such a checkpoint can give.
_KINDS_OF = {"clip": ("clip",), "blip": ("blip-itm", "blip-itc")}
ADVICE = (
    "Give --model a directory, or a hub name such as Salesforce/blip-itm-base-coco or "
    "openai/clip-vit-base-patch32."
)


def choose_device(device: str | None = None) -> str:
    """`device` if it is given and there, otherwise cuda, mps, cpu in this order.

    Raises SettingsError for a device that this machine does not have.
    """
    there = ["cpu"]
    if torch.backends.mps.is_available():
        there.insert(0, "mps")
    if torch.cuda.is_available():
        there.insert(0, "cuda")
    if device is None:
        return there[0]
    if device.split(":")[0] not in there:
        raise SettingsError(f"There is no device '{device}' here; there are: {', '.join(there)}.")
    return device


def choose_precision(device: str, precision: str | None = None) -> str:
    """`precision` if it is given, otherwise bfloat16 on CUDA and float32 elsewhere.

    What bfloat16 changes is in the README ("Speed"). Raises SettingsError for any other.
    """
    if precision not in (None, *PRECISIONS):
        raise SettingsError(f"There is no precision '{precision}'; use {' or '.join(PRECISIONS)}.")
    return precision or ("bfloat16" if device.startswith("cuda") else "float32")


def load_scorer(
    model: str,
    kind: str | None = None,
    device: str | None = None,
    precision: str | None = None,
) -> Scorer:
    """Load `model`; `kind` is one of KINDS, None takes the checkpoint's own.

    Raises ModelUnavailable if it cannot be loaded, ModelMismatch if it is something else or lacks
    weights, SettingsError for a kind or a device that does not exist.
    """
    if kind is not None and kind not in KINDS:
        raise SettingsError(f"There is no scorer '{kind}'; use one of: {', '.join(KINDS)}.")
    where = choose_device(device)
    how = choose_precision(where, precision)
    configuration = _configuration(model)
    possible = _KINDS_OF.get(configuration.model_type)
    if possible is None:
        raise ModelMismatch(
            f"'{model}' is a {configuration.model_type} model; scorers are CLIP or BLIP image-text "
            f"retrieval models. {ADVICE}"
        )
    if kind is not None and kind not in possible:
        raise ModelMismatch(f"'{model}' gives {' or '.join(possible)}, not {kind}. {ADVICE}")
    chosen = kind or possible[0]
    if chosen == "clip":
        return _load_clip(model, where, how)
    return _load_blip(model, chosen, where, how)


def _configuration(model: str) -> Any:
    from transformers import AutoConfig

    if Path(model).is_dir() and not (Path(model) / "config.json").is_file():
        raise ModelUnavailable(f"The directory '{model}' holds no config.json. {ADVICE}")
    try:
        return AutoConfig.from_pretrained(model)
    except (OSError, ValueError, KeyError) as problem:
        raise ModelUnavailable(_could_not(model, problem)) from problem


def _load_clip(model: str, device: str, precision: str) -> ClipScorer:
    from transformers import CLIPModel, CLIPProcessor

    import backend.torchvision_compat  # noqa: F401  (before transformers' image processors)

    loaded, processor = _load(model, CLIPModel, CLIPProcessor, ("logit_scale",))
    text = loaded.config.text_config
    reader = HubReader(processor.tokenizer, int(text.max_position_embeddings), int(text.vocab_size))
    info = _info("clip", model, device, precision, loaded, reader.context)
    return ClipScorer(info, loaded.to(device), reader, processor)


def _load_blip(model: str, kind: str, device: str, precision: str) -> BlipScorer:
    from transformers import BlipForImageTextRetrieval, BlipProcessor

    import backend.torchvision_compat  # noqa: F401  (before transformers' image processors)

    loaded, processor = _load(model, BlipForImageTextRetrieval, BlipProcessor)
    text = loaded.config.text_config
    reader = HubReader(
        processor.tokenizer,
        min(CONTEXT, int(text.max_position_embeddings)),
        int(text.vocab_size),
    )
    return BlipScorer(
        _info(kind, model, device, precision, loaded, reader.context),
        loaded.to(device),
        reader,
        processor,
        encoder_token(processor.tokenizer, int(text.vocab_size)),
    )


def encoder_token(tokenizer: Any, vocabulary: int) -> int:
    """The id of [ENC], the first token of ITM.

    Published tokenizers do not know it; in their models it is the last of the vocabulary (30523).
    """
    known = tokenizer.get_vocab().get("[ENC]")
    return int(known) if known is not None else vocabulary - 1


def _load(
    model: str, model_class: Any, processor_class: Any, dispensable: tuple[str, ...] = ()
) -> tuple[Any, Any]:
    try:
        loaded, report = model_class.from_pretrained(
            model, output_loading_info=True, dtype=torch.float32
        )
        processor = processor_class.from_pretrained(model)
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        raise ModelUnavailable(_could_not(model, problem)) from problem
    missing = [key for key in report["missing_keys"] if not key.startswith(dispensable or "\0")]
    if missing:
        raise ModelMismatch(
            f"'{model}' lacks {len(missing)} weights that a {model_class.__name__} needs "
            f"(the first: {sorted(missing)[0]}). {ADVICE}"
        )
    return loaded.eval(), processor


def _info(
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
    )


def _could_not(model: str, problem: BaseException) -> str:
    where = "directory" if Path(model).exists() else "hub name"
    reason = str(problem).strip().splitlines()[0][:200] if str(problem).strip() else ""
    return f"'{model}' ({where}) could not be loaded: {reason or type(problem).__name__} {ADVICE}"
