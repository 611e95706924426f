"""LAVIS checkpoints (`.pth`) as our BLIP: the same weights under other names.

`blip_image_text_matching` (base, large) and `blip_feature_extractor`. Only the image tower's names
differ; momentum copies, queues and decoders are dropped. Scores equal LAVIS's own, given twelve
attention heads in the text tower and an epsilon of 1e-6 in the image tower; no file records these,
so they are set here.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from backend.engine import hub
from backend.engine.model_fit import check_tokenizer
from backend.engine.scoring.blip import CONTEXT, BlipScorer, encoder_token
from backend.engine.scoring.checkpoints import Family, Request, info_of, weights_digest
from backend.engine.scoring.cleaning import BLIP_CAPTION
from backend.engine.scoring.tokens import HubReader
from backend.errors import ModelMismatch, ModelUnavailable

#: Substrings of weight names, replaced in this order.
_RENAMED = (
    ("visual_encoder.cls_token", "vision_model.embeddings.class_embedding"),
    ("visual_encoder.pos_embed", "vision_model.embeddings.position_embedding"),
    ("visual_encoder.patch_embed.proj.", "vision_model.embeddings.patch_embedding."),
    ("visual_encoder.norm.", "vision_model.post_layernorm."),
    ("visual_encoder.blocks.", "vision_model.encoder.layers."),
)
_RENAMED_IN_BLOCKS = (
    (".attn.qkv.", ".self_attn.qkv."),
    (".attn.proj.", ".self_attn.projection."),
    (".norm1.", ".layer_norm1."),
    (".norm2.", ".layer_norm2."),
)
_KEPT = ("vision_model.", "text_encoder.", "vision_proj.", "text_proj.", "itm_head.")
#: Stored by old versions of transformers, created at construction by new ones.
_DROPPED = ("text_encoder.embeddings.position_ids",)
_HEAD_WIDTH = 64


def convert(state: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """LAVIS's weights under the names of `BlipForImageTextRetrieval`; unused ones are dropped.

    >>> list(convert({"visual_encoder.norm.weight": torch.ones(1), "queue": torch.ones(1)}))
    ['vision_model.post_layernorm.weight']
    """
    weights = {}
    for name, weight in state.items():
        for old, new in _RENAMED:
            name = name.replace(old, new)
        if name.startswith("vision_model.encoder."):
            for old, new in _RENAMED_IN_BLOCKS:
                name = name.replace(old, new)
        if name.startswith(_KEPT) and name not in _DROPPED:
            weights[name] = weight
    return weights


def load_checkpoint(path: Path) -> Any:
    """A `BlipForImageTextRetrieval` from a LAVIS `.pth` file, in evaluation mode.

    Raises ModelUnavailable if the file cannot be read, ModelMismatch if it is of another model.
    """
    from transformers import BlipForImageTextRetrieval

    tensors = hub.read_tensors(path)
    state = tensors.get("model", tensors) if isinstance(tensors, dict) else {}
    weights = convert({k: v for k, v in state.items() if isinstance(v, torch.Tensor)})
    try:
        model = BlipForImageTextRetrieval(configuration_of(weights))
    except KeyError as problem:
        raise ModelMismatch(
            f"'{path}' is not a BLIP retrieval checkpoint of LAVIS: {problem.args[0]} is not in it."
        ) from problem
    missing, unexpected = model.load_state_dict(weights, strict=False)
    # A feature extractor has no matching head; `load_blip_checkpoint` rejects ITM for it.
    lacking = [name for name in missing if not name.startswith("itm_head.")]
    if lacking or unexpected:
        raise ModelMismatch(
            f"'{path}' does not fit BLIP: {len(lacking)} weights are missing "
            f"({', '.join(sorted(lacking)[:1])}), {len(unexpected)} are unknown "
            f"({', '.join(sorted(unexpected)[:1])})."
        )
    model.has_matching_head = "itm_head.weight" in weights  # pyrefly: ignore[bad-argument-type]
    return model.eval()


def configuration_of(weights: Mapping[str, torch.Tensor]) -> Any:
    """A `BlipConfig` inferred from the weights' shapes. Raises KeyError if a weight is missing."""
    from transformers import BlipConfig

    patch = weights["vision_model.embeddings.patch_embedding.weight"]
    places = weights["vision_model.embeddings.position_embedding"].shape[1] - 1
    words = weights["text_encoder.embeddings.word_embeddings.weight"]
    inner = weights["text_encoder.encoder.layer.0.intermediate.dense.weight"].shape[0]
    patches = weights["text_encoder.encoder.layer.0.crossattention.self.key.weight"].shape[1]
    positions = weights["text_encoder.embeddings.position_embeddings.weight"].shape[0]
    out, _ = weights["text_proj.weight"].shape
    text = {
        "vocab_size": words.shape[0], "hidden_size": words.shape[1], "encoder_hidden_size": patches,
        "intermediate_size": inner, "projection_dim": out, "is_decoder": True,
        "num_hidden_layers": _layers(weights, r"text_encoder\.encoder\.layer\.(\d+)\."),
        "num_attention_heads": words.shape[1] // _HEAD_WIDTH, "max_position_embeddings": positions,
    }  # fmt: skip
    vision = {
        "hidden_size": patch.shape[0], "layer_norm_eps": 1e-6, "patch_size": patch.shape[-1],
        "intermediate_size": weights["vision_model.encoder.layers.0.mlp.fc1.weight"].shape[0],
        "num_hidden_layers": _layers(weights, r"vision_model\.encoder\.layers\.(\d+)\."),
        "num_attention_heads": patch.shape[0] // _HEAD_WIDTH,
        "image_size": round(places**0.5) * patch.shape[-1],
    }  # fmt: skip
    return BlipConfig(
        text_config=text, vision_config=vision, projection_dim=out, image_text_hidden_size=out
    )


def _layers(weights: Mapping[str, torch.Tensor], pattern: str) -> int:
    return 1 + max(int(m.group(1)) for name in weights if (m := re.match(pattern, name)))


def load_blip_checkpoint(request: Request) -> BlipScorer:
    """A LAVIS `.pth` file, with BERT's vocabulary from a vocab.txt next to it or from the hub.

    Raises as `load_scorer` does."""
    from transformers import BertTokenizerFast, BlipImageProcessor

    model, kind, device, precision = request
    path = Path(model)
    if not path.is_file():
        raise ModelUnavailable(f"There is no file '{model}'.")
    network = load_checkpoint(path)
    scorer_kind = kind or ("blip-itm" if network.has_matching_head else "blip-itc")
    if scorer_kind == "blip-itm" and not network.has_matching_head:
        raise ModelMismatch(f"'{model}' has no matching head.", terminal="Use --scorer blip-itc.")
    vocabulary = path.parent if (path.parent / "vocab.txt").is_file() else "bert-base-uncased"
    try:
        tokenizer = hub.load(BertTokenizerFast, vocabulary)
    except ModelUnavailable as problem:
        raise ModelUnavailable(
            f"'{model}' needs BERT's vocabulary (bert-base-uncased). Put its vocab.txt next to the "
            "checkpoint, or connect to the hub once."
        ) from problem
    size = network.config.vision_config.image_size
    image_processor = BlipImageProcessor(size={"height": size, "width": size})
    text = network.config.text_config
    check_tokenizer(str(vocabulary), tokenizer, int(text.vocab_size))
    reader = HubReader(tokenizer, CONTEXT, int(text.vocab_size))
    info = info_of(scorer_kind, model, device, precision, network, CONTEXT)
    info = replace(info, revision=weights_digest(network))
    encoder = encoder_token(tokenizer, int(text.vocab_size))
    return BlipScorer(info, network.to(device), reader, image_processor, encoder)


FAMILY = Family(
    ("blip-itm", "blip-itc"),
    load_blip_checkpoint,
    named=lambda model: model.endswith(".pth"),
    embedding="blip-itc",
    cleaning=BLIP_CAPTION,
)
