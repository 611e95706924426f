"""Tiny instances of the real classes: `BlipForImageTextRetrieval`, its captioner, `CLIPModel`."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from transformers import (
    BertTokenizerFast,
    BlipConfig,
    BlipForConditionalGeneration,
    BlipForImageTextRetrieval,
    CLIPConfig,
    CLIPModel,
)

from research.scenes.phrasing import vocabulary


def byte_pair_tokenizer(
    texts: Sequence[str], vocabulary: int, special: Sequence[str], end: str, **extra_tokens: str
) -> Any:
    """Train a fast tokenizer on `texts`; "<pad>" and `end` must be among the `special` tokens.

    `vocabulary`: its size; `extra_tokens`: additional special tokens by their attribute names.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=list(special),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token=end,
        extra_special_tokens=extra_tokens,
    )


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
TOKENS: tuple[str, ...] = (*SPECIAL, ".", ",", *vocabulary(), "[DEC]", "[ENC]")
INDEX = {token: number for number, token in enumerate(TOKENS)}
#: Maximum number of tokens that the models read, including [CLS] and [SEP].
CONTEXT = 32


def make_tokenizer(tokens: Sequence[str] = TOKENS) -> BertTokenizerFast:
    """A tokenizer that, once saved, `AutoTokenizer` can load."""
    options = {} if tokens is TOKENS else {"strip_accents": False}
    return BertTokenizerFast(
        vocab={token: number for number, token in enumerate(tokens)},
        do_lower_case=True,
        **options,
        model_max_length=CONTEXT,
        bos_token="[DEC]",
        additional_special_tokens=["[ENC]"],
    )


IMAGE_SIZE = 96
PATCH = 12
GRID = IMAGE_SIZE // PATCH
WIDTH = 128
HEADS = 4
VISION_LAYERS = 5
TEXT_LAYERS = 4
PROJECTION = 64
MEAN, DEVIATION = (0.55, 0.58, 0.56), (0.27, 0.27, 0.27)


_TEXT: dict[str, Any] = {
    "vocab_size": len(TOKENS), "hidden_size": WIDTH, "intermediate_size": 4 * WIDTH,
    "projection_dim": PROJECTION, "num_hidden_layers": TEXT_LAYERS, "num_attention_heads": HEADS,
    "max_position_embeddings": CONTEXT, "eos_token_id": TOKENS.index("[SEP]"),
    "pad_token_id": TOKENS.index("[PAD]"),
}  # fmt: skip
_VISION: dict[str, Any] = {
    "hidden_size": WIDTH, "intermediate_size": 4 * WIDTH, "projection_dim": PROJECTION,
    "num_hidden_layers": VISION_LAYERS, "num_attention_heads": HEADS, "image_size": IMAGE_SIZE,
    "patch_size": PATCH,
}  # fmt: skip


def blip_configuration() -> BlipConfig:
    """A complete configuration: transformers' defaults for heads and epsilon are not BLIP's."""
    text = {
        **_TEXT, "encoder_hidden_size": WIDTH, "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0, "bos_token_id": TOKENS.index("[DEC]"),
        "sep_token_id": TOKENS.index("[SEP]"), "is_decoder": True, "use_cache": False,
        "label_smoothing": 0.0,
    }  # fmt: skip
    vision = {**_VISION, "layer_norm_eps": 1e-6, "initializer_range": 0.02}
    return BlipConfig(
        text_config=text, vision_config=vision, projection_dim=PROJECTION,
        image_text_hidden_size=PROJECTION, label_smoothing=0.0,
    )  # fmt: skip


def make_retrieval_model() -> BlipForImageTextRetrieval:
    model = BlipForImageTextRetrieval(blip_configuration())
    initialise(model)
    return model


def make_captioner(retrieval: BlipForImageTextRetrieval) -> BlipForConditionalGeneration:
    """A captioner initialised with the retrieval model's towers."""
    model = BlipForConditionalGeneration(blip_configuration())
    initialise(model)
    model.vision_model.load_state_dict(retrieval.vision_model.state_dict())
    model.text_decoder.bert.load_state_dict(retrieval.text_encoder.state_dict(), strict=False)
    return model


def make_clip(retrieval: BlipForImageTextRetrieval | None = None) -> CLIPModel:
    """A CLIP model, whose image tower is initialised with the retrieval model's, if given."""
    text = {**_TEXT, "bos_token_id": TOKENS.index("[CLS]")}
    vision = {**_VISION, "hidden_act": "gelu"}
    model = CLIPModel(CLIPConfig(text_config=text, vision_config=vision, projection_dim=PROJECTION))
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
        elif isinstance(module, nn.Conv2d):
            nn.init.normal_(module.weight, std=(3 * PATCH * PATCH) ** -0.5)
    with torch.no_grad():
        grid = model.vision_model.embeddings.position_embedding.weight
        grid[1:] = 0.5 * grid_positions()
    if retrieval is not None:
        _copy_image_tower(retrieval.vision_model, model.vision_model)
    return model


@torch.no_grad()
def _copy_image_tower(source: Any, target: Any) -> None:
    """Copy BLIP's image tower into CLIP's. CLIP has an additional layer norm before the first layer
    and no patch bias, so this is an approximation, good enough as initialisation."""
    target.embeddings.class_embedding.copy_(source.embeddings.class_embedding.flatten())
    target.embeddings.patch_embedding.weight.copy_(source.embeddings.patch_embedding.weight)
    target.embeddings.position_embedding.weight.copy_(source.embeddings.position_embedding[0])
    target.embeddings.position_embedding.weight[1:] += source.embeddings.patch_embedding.bias
    for old, new in zip(source.encoder.layers, target.encoder.layers, strict=True):
        for name in ("layer_norm1", "layer_norm2"):
            getattr(new, name).load_state_dict(getattr(old, name).state_dict())
        new.mlp.load_state_dict(old.mlp.state_dict())
        new.self_attn.out_proj.load_state_dict(old.self_attn.projection.state_dict())
        for part, name in enumerate(("q_proj", "k_proj", "v_proj")):
            rows = slice(part * WIDTH, (part + 1) * WIDTH)
            getattr(new.self_attn, name).weight.copy_(old.self_attn.qkv.weight[rows])
            getattr(new.self_attn, name).bias.copy_(old.self_attn.qkv.bias[rows])
    target.post_layernorm.load_state_dict(source.post_layernorm.state_dict())
    # Scale the output of CLIP's additional layer norm to the magnitude of BLIP's embeddings.
    magnitude = source.embeddings.position_embedding[0, 1:].std()
    target.pre_layrnorm.weight.fill_(float(magnitude))


def initialise(model: Any) -> None:
    """Initialise with Xavier weights and sine-cosine positions.

    `BlipVisionConfig.initializer_range` is so small that a tower would start near zero and never
    learn.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Conv2d):
            nn.init.normal_(module.weight, std=(3 * PATCH * PATCH) ** -0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.05)
    embeddings: Any = model.vision_model.embeddings
    nn.init.normal_(embeddings.class_embedding, std=0.02)
    with torch.no_grad():
        embeddings.position_embedding.zero_()
        embeddings.position_embedding[0, 1:] = 0.5 * grid_positions()


def grid_positions() -> torch.Tensor:
    """Two-dimensional sine-cosine positions, shape [GRID * GRID, WIDTH]."""
    quarter = WIDTH // 4
    rates = 1 / (100 ** (torch.arange(quarter) / quarter))
    rows, columns = torch.meshgrid(torch.arange(GRID), torch.arange(GRID), indexing="ij")
    parts = [
        wave(axis.reshape(-1, 1) * rates)
        for axis in (rows, columns)
        for wave in (torch.sin, torch.cos)
    ]
    return torch.cat(parts, dim=1)


def normalise(pixels: torch.Tensor) -> torch.Tensor:
    """Convert uint8 [n, height, width, 3] to the towers' input, float32 [n, 3, height, width]."""
    mean, deviation = torch.tensor(MEAN).view(1, 3, 1, 1), torch.tensor(DEVIATION).view(1, 3, 1, 1)
    return (pixels.permute(0, 3, 1, 2).float() / 255 - mean) / deviation
