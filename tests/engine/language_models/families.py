"""A very small InternVL in Hugging Face format: the family that TRACED uses for corrections."""

from pathlib import Path

import torch

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from backend.lab.scenes.vision_language import CHAT_TEMPLATE, make_tokenizer

_SIDE, _PATCH, _TOKENS = 56, 14, 4


def internvl(folder: Path) -> Path:
    from transformers import (
        GotOcr2ImageProcessor,
        InternVLConfig,
        InternVLForConditionalGeneration,
        InternVLProcessor,
        InternVLVideoProcessor,
        InternVLVisionConfig,
        Qwen2Config,
    )

    torch.manual_seed(0)
    size = {"height": _SIDE, "width": _SIDE}
    tokenizer = make_tokenizer(
        start_image_token="<img>", end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>", video_token="<video>",
    )  # fmt: skip
    model = InternVLForConditionalGeneration(
        InternVLConfig(
            vision_config=InternVLVisionConfig(
                hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
                image_size=[_SIDE, _SIDE], patch_size=[_PATCH, _PATCH],
            ),
            text_config=Qwen2Config(
                vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64,
                num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
            ),
            image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
            image_seq_length=_TOKENS, downsample_ratio=0.5,
        )
    )  # fmt: skip
    model.save_pretrained(folder)
    InternVLProcessor(
        image_processor=GotOcr2ImageProcessor(size=size, crop_to_patches=False),
        tokenizer=tokenizer,
        video_processor=InternVLVideoProcessor(size=size),
        image_seq_length=_TOKENS,
        chat_template=CHAT_TEMPLATE.replace("<image>", "<IMG_CONTEXT>"),
    ).save_pretrained(folder)
    return folder
