"""Very small language models in the published layouts: InternVL, which TRACED uses for corrections,
Qwen2.5-VL, Idefics3, the class of SmolVLM, and Mistral, which has no vision."""

import random
from pathlib import Path
from typing import Any

import torch

import backend.engine.torchvision_compat  # noqa: F401  (before transformers' image processors)
from research.scenes.grammar import describe
from research.scenes.vision_language import CHAT_TEMPLATE, make_tokenizer
from research.scenes.world import make_scene

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


#: As Mistral-7B-Instruct-v0.2's: no system turn, and roles alternate.
_MISTRAL_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant/...') }}{% endif %}"
    "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
    "{% else %}{{ message['content'] + eos_token }}{% endif %}{% endfor %}"
)


def mistral(folder: Path) -> Path:
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(0)
    tokenizer = make_tokenizer(bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = _MISTRAL_TEMPLATE
    MistralForCausalLM(
        MistralConfig(
            vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=2,
            bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
        )
    ).save_pretrained(folder)  # fmt: skip
    tokenizer.save_pretrained(folder)
    return folder


#: How Qwen splits a text before its byte pairs are merged: punctuation takes line breaks along.
_QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_TEMPLATE = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n{% for content in message['content'] %}"
    "{% if content['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_IDEFICS_TEMPLATE = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}"
    "{% if message['content'][0]['type'] == 'image' %}{{ ':' }}{% else %}{{ ': ' }}{% endif %}"
    "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{ line['text'] }}"
    "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n"
    "{% endfor %}{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
)


def _byte_pairs(special: list[str], pattern: str | None = None, **named: str) -> Any:
    """A byte-level vocabulary of the prompts' and the scenes' words; `pattern`: how a text is split
    first, GPT-2's way by default."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern is not None:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(pattern), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    tokenizer.decoder = decoders.ByteLevel()
    rng = random.Random(0)
    texts = [describe(make_scene(rng), rng).text for _ in range(200)]
    texts += ['Yes yes YES No no NO\n"A dog."?\n... ' + "Answer yes or no.\nassistant"] * 50
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=special[0], eos_token=special[0],
        extra_special_tokens=named,
    )  # fmt: skip


def qwen2_5_vl(folder: Path) -> Path:
    """Positions in three axes, pictures of any size."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    torch.manual_seed(0)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>",
               "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]  # fmt: skip
    tokenizer = _byte_pairs(special, _QWEN_PATTERN)
    ids = dict(zip(special, tokenizer.convert_tokens_to_ids(special), strict=True))
    model = Qwen2_5_VLForConditionalGeneration(
        Qwen2_5_VLConfig(
            text_config={
                "vocab_size": len(tokenizer), "hidden_size": 48, "intermediate_size": 96,
                "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                "max_position_embeddings": 2048, "initializer_range": 0.2, "bos_token_id": None,
                "eos_token_id": ids["<|im_end|>"],
                "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0,
                                    "mrope_section": [2, 2, 2]},
            },
            vision_config={
                "depth": 2, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2,
                "out_hidden_size": 48, "fullatt_block_indexes": [1],
            },
            image_token_id=ids["<|image_pad|>"], video_token_id=ids["<|video_pad|>"],
            vision_start_token_id=ids["<|vision_start|>"],
            vision_end_token_id=ids["<|vision_end|>"],
        )
    )  # fmt: skip
    model.save_pretrained(folder)
    Qwen2_5_VLProcessor(
        image_processor=Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=768 * 768),
        tokenizer=tokenizer,
        video_processor=Qwen2VLVideoProcessor(),
        chat_template=_QWEN_TEMPLATE,
    ).save_pretrained(folder)
    return folder


def idefics3(folder: Path) -> Path:
    """SmolVLM's class: a picture is cut into pieces, each a picture for the image tower."""
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessor,
        Idefics3Processor,
    )

    torch.manual_seed(0)
    special = ["<|im_end|>", "<|im_start|>", "<fake_token_around_image>", "<image>",
               "<end_of_utterance>", "<global-img>"]  # fmt: skip
    special += [f"<row_{row}_col_{column}>" for row in range(1, 4) for column in range(1, 4)]
    tokenizer = _byte_pairs(special)
    side, patch, scale = 48, 12, 2
    model = Idefics3ForConditionalGeneration(
        Idefics3Config(
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
            vision_config={
                "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
                "num_attention_heads": 2, "image_size": side, "patch_size": patch,
            },
            text_config={
                "model_type": "llama", "vocab_size": len(tokenizer), "hidden_size": 48,
                "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
                "num_key_value_heads": 2, "max_position_embeddings": 2048, "pad_token_id": 0,
                "initializer_range": 0.2,
            },
            scale_factor=scale,
        )
    )  # fmt: skip
    model.save_pretrained(folder)
    Idefics3Processor(
        image_processor=Idefics3ImageProcessor(
            size={"longest_edge": 2 * side}, max_image_size={"longest_edge": side}
        ),
        tokenizer=tokenizer,
        image_seq_len=(side // patch // scale) ** 2,
        chat_template=_IDEFICS_TEMPLATE,
    ).save_pretrained(folder)
    return folder
