"""A scorer from a hub name or a directory, through Hugging Face classes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from backend.errors import ModelMismatch, ModelUnavailable, SettingsError, not_loaded
from backend.scoring.blip import CONTEXT, BlipScorer
from backend.scoring.clip import ClipScorer
from backend.scoring.dual_encoder import DualEncoder
from backend.scoring.lavis import PREFIX as LAVIS_PREFIX
from backend.scoring.lavis import load_lavis
from backend.scoring.lavis_checkpoint import load_checkpoint
from backend.scoring.lemon import LemonParameters, LemonScorer
from backend.scoring.open_clip_model import PREFIX, OpenClipScorer, reader_of
from backend.scoring.protocol import Scorer, ScorerInfo
from backend.scoring.revision import limits_of, revision_of, weights_digest
from backend.scoring.siglip import SiglipScorer
from backend.scoring.tokens import HubReader

PRECISIONS = ("float32", "bfloat16")
KINDS = ("clip", "blip-itc", "blip-itm", "siglip", "open-clip", "lemon")
#: A model type of transformers, and which kinds of score such a checkpoint can give.
_KINDS_OF = {"clip": ("clip",), "blip": ("blip-itm", "blip-itc"), "siglip": ("siglip",)}
ADVICE = (
    "Give --model a directory, a hub name such as Salesforce/blip-itm-base-coco or "
    "openai/clip-vit-base-patch32, open_clip:ARCHITECTURE@PRETRAINED, a .pth of LAVIS, or "
    "lavis:NAME."
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
    if model.startswith(LAVIS_PREFIX):
        return load_lavis(model, kind, where)
    if kind == "lemon":
        return LemonScorer(_load_embedding(model, where, how), LemonParameters())
    return _load_kind(model, kind, where, how)


def _load_embedding(model: str, device: str, precision: str) -> DualEncoder:
    """A scorer that embeds: what LEMoN stands on. BLIP gives ITC."""
    if model.startswith(PREFIX):
        return _load_open_clip(model, device, precision)
    itc = model.endswith(".pth") or _configuration(model).model_type == "blip"
    return _load_kind(model, "blip-itc" if itc else None, device, precision)


def _load_kind(model: str, kind: str | None, device: str, precision: str) -> DualEncoder:
    if model.startswith(PREFIX):
        if kind not in (None, "open-clip"):
            raise ModelMismatch(f"'{model}' gives open-clip, not {kind}. {ADVICE}")
        return _load_open_clip(model, device, precision)
    if model.endswith(".pth"):
        return _load_lavis_checkpoint(model, kind, device, precision)
    configuration = _configuration(model)
    possible = _KINDS_OF.get(configuration.model_type)
    if possible is None:
        raise ModelMismatch(
            f"'{model}' is a {configuration.model_type} model; scorers are CLIP, SigLIP or BLIP "
            f"image-text retrieval models. {ADVICE}"
        )
    if kind is not None and kind not in possible:
        raise ModelMismatch(f"'{model}' gives {' or '.join(possible)}, not {kind}. {ADVICE}")
    chosen = kind or possible[0]
    if chosen == "clip":
        return _load_clip(model, device, precision)
    if chosen == "siglip":
        return _load_siglip(model, device, precision)
    return _load_blip(model, chosen, device, precision)


def _configuration(model: str) -> Any:
    from transformers import AutoConfig

    if Path(model).is_dir() and not (Path(model) / "config.json").is_file():
        raise ModelUnavailable(f"The directory '{model}' holds no config.json. {ADVICE}")
    try:
        return AutoConfig.from_pretrained(model)
    except (OSError, ValueError, KeyError) as problem:
        raise not_loaded("The model", model, problem, ADVICE) from problem


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


def _load_lavis_checkpoint(model: str, kind: str | None, device: str, precision: str) -> BlipScorer:
    """A `.pth` of LAVIS. BERT's vocabulary is taken from beside it (vocab.txt), or from the hub."""
    import backend.torchvision_compat  # noqa: F401, I001  (before transformers' image processors)
    from transformers import BertTokenizerFast, BlipImageProcessor, BlipProcessor

    path = Path(model)
    if kind not in (None, "blip-itm", "blip-itc"):
        raise ModelMismatch(f"'{model}' gives blip-itm or blip-itc, not {kind}. {ADVICE}")
    if not path.is_file():
        raise ModelUnavailable(f"There is no file '{model}'.")
    loaded = load_checkpoint(path)
    chosen = kind or ("blip-itm" if loaded.has_matching_head else "blip-itc")
    if chosen == "blip-itm" and not loaded.has_matching_head:
        raise ModelMismatch(f"'{model}' has no matching head; use --scorer blip-itc.")
    vocabulary = path.parent if (path.parent / "vocab.txt").is_file() else "bert-base-uncased"
    try:
        tokenizer = BertTokenizerFast.from_pretrained(str(vocabulary))
    except (OSError, ValueError) as problem:
        raise ModelUnavailable(
            f"'{model}' needs BERT's vocabulary (bert-base-uncased). Put its vocab.txt beside the "
            "checkpoint, or connect to the hub once."
        ) from problem
    size = loaded.config.vision_config.image_size
    processor = BlipProcessor(BlipImageProcessor(size={"height": size, "width": size}), tokenizer)
    text = loaded.config.text_config
    reader = HubReader(tokenizer, CONTEXT, int(text.vocab_size))
    info = _info(chosen, model, device, precision, loaded, CONTEXT)
    info = replace(info, revision=weights_digest(loaded))
    return BlipScorer(
        info, loaded.to(device), reader, processor, encoder_token(tokenizer, int(text.vocab_size))
    )


def _load_siglip(model: str, device: str, precision: str) -> SiglipScorer:
    import backend.torchvision_compat  # noqa: F401, I001  (before transformers' image processors)
    from transformers import AutoImageProcessor, AutoTokenizer, SiglipModel

    loaded = _weights(model, SiglipModel, ("logit_scale", "logit_bias"))
    try:
        image_processor = AutoImageProcessor.from_pretrained(model)
        tokenizer = AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        raise not_loaded("The model", model, problem, ADVICE) from problem
    text = loaded.config.text_config
    # One token behind a caption, none before: two places less than its length, as `HubReader` cuts.
    reader = HubReader(tokenizer, int(text.max_position_embeddings) + 1, int(text.vocab_size))
    info = _info("siglip", model, device, precision, loaded, reader.context - 1)
    return SiglipScorer(info, loaded.to(device), reader, image_processor)


def _load_open_clip(model: str, device: str, precision: str) -> OpenClipScorer:
    import backend.torchvision_compat  # noqa: F401, I001  (before open_clip)
    import open_clip

    architecture, _, pretrained = model.removeprefix(PREFIX).partition("@")
    try:
        loaded, _, preprocess = open_clip.create_model_and_transforms(
            architecture, pretrained=pretrained or None, device="cpu"
        )
        tokenizer = open_clip.get_tokenizer(architecture)
    except Exception as problem:  # open_clip and the hub raise what they like
        raise not_loaded("The model", model, problem, ADVICE) from problem
    if not pretrained and "hf-hub:" not in architecture and "local-dir:" not in architecture:
        known = ", ".join(open_clip.list_pretrained_tags_by_model(architecture)) or "none"
        raise ModelMismatch(
            f"'{model}' names no weights. Add @ and a tag ({known}) or a file of weights."
        )
    context = int(getattr(loaded, "context_length", None) or loaded.text.context_length)
    reader = reader_of(tokenizer, context)
    info = ScorerInfo(
        kind="open-clip",
        model=model,
        revision=weights_digest(loaded),
        device=device,
        context_words_note=f"at most {context} tokens; the rest of a caption is not read",
        precision=precision,
    )
    return OpenClipScorer(info, loaded.eval().to(device), reader, preprocess)


def encoder_token(tokenizer: Any, vocabulary: int) -> int:
    """The id of [ENC], the first token of ITM.

    Published tokenizers do not know it; in their models it is the last of the vocabulary (30523).
    """
    known = tokenizer.get_vocab().get("[ENC]")
    return int(known) if known is not None else vocabulary - 1


def _load(
    model: str, model_class: Any, processor_class: Any, dispensable: tuple[str, ...] = ()
) -> tuple[Any, Any]:
    loaded = _weights(model, model_class, dispensable)
    try:
        return loaded, processor_class.from_pretrained(model)
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        raise not_loaded("The model", model, problem, ADVICE) from problem


def _weights(model: str, model_class: Any, dispensable: tuple[str, ...]) -> Any:
    """The model with all of its weights; `dispensable` beginnings of names may lack."""
    try:
        loaded, report = model_class.from_pretrained(
            model, output_loading_info=True, dtype=torch.float32
        )
    except (OSError, ValueError, KeyError, RuntimeError) as problem:
        raise not_loaded("The model", model, problem, ADVICE) from problem
    missing = [key for key in report["missing_keys"] if not key.startswith(dispensable or "\0")]
    if missing:
        raise ModelMismatch(
            f"'{model}' lacks {len(missing)} weights that a {model_class.__name__} needs "
            f"(the first: {sorted(missing)[0]}). {ADVICE}"
        )
    return loaded.eval()


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
        second="ITC" if kind == "blip-itm" else "",
    )
