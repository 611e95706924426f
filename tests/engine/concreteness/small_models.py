"""Small components of the ICC pipeline in Hugging Face format: real classes, random weights."""

from pathlib import Path

import torch

import backend.engine.torchvision_compat  # noqa: F401  (before transformers and diffusers)


def word_tokenizer(texts: list[str]) -> object:
    """Whole words, with end and padding tokens."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    built = Tokenizer(models.WordLevel(unk_token="<unk>"))
    built.pre_tokenizer = pre_tokenizers.Whitespace()
    built.train_from_iterator(
        texts, trainers.WordLevelTrainer(special_tokens=["<pad>", "<unk>", "<end>"])
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=built, pad_token="<pad>", eos_token="<end>", unk_token="<unk>"
    )


def language_model(folder: Path, texts: list[str], width: int = 48) -> Path:
    """GPT-2 over whole words."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    tokenizer = word_tokenizer(texts)
    GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer), n_embd=width, n_layer=2, n_head=4, n_positions=96,  # pyrefly: ignore[bad-argument-type]
            bos_token_id=2, eos_token_id=2, pad_token_id=0,
        )
    ).save_pretrained(folder)  # fmt: skip
    tokenizer.save_pretrained(folder)  # pyrefly: ignore[missing-attribute]
    return folder


def text_to_image(folder: Path, texts: list[str]) -> Path:
    """A Stable Diffusion pipeline of 16 x 16 latents, as diffusers loads it."""
    from diffusers import (
        AutoencoderKL,
        DDIMScheduler,
        StableDiffusionPipeline,
        UNet2DConditionModel,
    )
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.manual_seed(0)
    tokenizer = word_tokenizer(texts)
    tokenizer.model_max_length = 16  # pyrefly: ignore[missing-attribute]
    StableDiffusionPipeline(
        vae=AutoencoderKL(
            block_out_channels=(8, 8), norm_num_groups=4, latent_channels=4, in_channels=3,
            out_channels=3, down_block_types=("DownEncoderBlock2D",) * 2,
            up_block_types=("UpDecoderBlock2D",) * 2,
        ),
        text_encoder=CLIPTextModel(
            CLIPTextConfig(
                vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16,  # pyrefly: ignore[bad-argument-type]
                num_hidden_layers=1, num_attention_heads=2, max_position_embeddings=16,
            )
        ),
        tokenizer=tokenizer,
        unet=UNet2DConditionModel(
            block_out_channels=(8, 8), layers_per_block=1, sample_size=16, in_channels=4,
            out_channels=4, norm_num_groups=4, cross_attention_dim=16, attention_head_dim=4,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        ),
        scheduler=DDIMScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)  # fmt: skip
    return folder


def text_encoder(folder: Path, texts: list[str]) -> Path:
    """A BERT as the target of distillation."""
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    tokenizer = word_tokenizer(texts)
    BertModel(
        BertConfig(
            vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2,  # pyrefly: ignore[bad-argument-type]
            intermediate_size=32,
        )
    ).save_pretrained(folder)  # fmt: skip
    tokenizer.save_pretrained(folder)  # pyrefly: ignore[missing-attribute]
    return folder
