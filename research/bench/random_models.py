"""Scorers of the published sizes with random weights, and captions of given lengths for them."""

import math
import random
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from backend.engine import hub
from backend.engine.captions import Caption
from backend.engine.correction.captioner import Captioner
from backend.engine.correction.captioner_loading import load_captioner
from backend.engine.scoring.blip import CONTEXT, BlipScorer
from backend.engine.scoring.checkpoints import Request
from backend.engine.scoring.clip import ClipScorer
from backend.engine.scoring.dual_encoder import DualEncoder
from backend.engine.scoring.protocol import BoolArray, ScorerInfo, Tokens
from backend.engine.scoring.siglip import SiglipScorer
from backend.errors import SettingsError
from backend.features.vision_language.vqa_checkpoints import VqaScorer, load_vqa
from backend.settings import EMBEDDED_CAPTIONER, MODELS
from research.scenes.vision_language import make_vision_language_model

#: Those with a reference implementation (`research.bench.reference`).
SCORERS = ("blip-itm", "blip-itc", "clip")
KINDS = (*SCORERS, "siglip")
EMBEDDED_CLIP = MODELS / "scenes-clip"
_BERT = 30_524
_CLIP = 49_408
_SIGLIP = 32_000


@dataclass(frozen=True)
class Size:
    """Of a tower: heads of 64 as published, or whatever a measurement needs."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    pixels: int = 384

    @property
    def dimensions(self) -> dict[str, int]:
        return {
            "hidden_size": self.width, "intermediate_size": 4 * self.width,
            "num_hidden_layers": self.layers, "num_attention_heads": self.heads,
        }  # fmt: skip


#: As deep as the published models, so that they make as many calls, and narrow, so that these cost
#: little.
NARROW = Size(width=16, heads=1, pixels=32)


def random_scorer(
    kind: str, precision: str = "float32", device: str = "cpu", size: Size | None = None
) -> DualEncoder:
    """BLIP base at 384 pixels, CLIP ViT-B/32, or SigLIP B/16 at 224; `size`: of both towers instead
    of theirs. Raises SettingsError for any other kind."""
    if kind not in KINDS:
        raise SettingsError(f"There is no scorer '{kind}' to measure; use {', '.join(KINDS)}.")
    info = ScorerInfo(kind, "random weights", "0", device, "", precision=precision)
    if kind == "clip":
        special = SimpleNamespace(pad_token_id=_CLIP - 1)
        reader = HashReader(_CLIP, 77, special)
        return ClipScorer(info, _clip(size).to(device), reader, None)
    if kind == "siglip":
        special = SimpleNamespace(pad_token_id=1, eos_token_id=1)
        reader = HashReader(_SIGLIP, 64, special)
        return SiglipScorer(info, _siglip(size).to(device), reader, None)
    special = SimpleNamespace(pad_token_id=0, cls_token_id=101, sep_token_id=102)
    reader = HashReader(_BERT, CONTEXT, special)
    model = _blip(size or Size()).to(device)
    return BlipScorer(info, model, reader, None, encoder_token=_BERT - 1)


#: Layers of LLaVA 1.5's image tower and of its language model.
_LLAVA = (24, 32)


def random_vision_language_model(folder: Path) -> VqaScorer:
    """A narrow LLaVA as deep as the published one, with the embedded CLIP's pictures. Its files are
    written to `folder`."""
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel

    image_layers, layers = _LLAVA
    configuration = hub.load(CLIPConfig, str(EMBEDDED_CLIP))
    configuration.vision_config.num_hidden_layers = image_layers
    configuration.text_config.num_hidden_layers = 1
    CLIPModel(configuration).save_pretrained(folder / "clip")
    hub.load(CLIPImageProcessor, str(EMBEDDED_CLIP)).save_pretrained(folder / "clip")
    make_vision_language_model(folder, width=32, layers=layers, clip=folder / "clip")
    return load_vqa(Request(f"vqa:{folder}", None, "cpu", "float32"))


def random_pixels(scorer: DualEncoder, count: int) -> torch.Tensor:
    size = scorer.model.config.vision_config.image_size
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(0))


def _blip(size: Size) -> Any:
    from transformers import BlipForImageTextRetrieval

    return _with_random_weights(BlipForImageTextRetrieval, _blip_configuration(size, _BERT))


def _blip_configuration(size: Size, vocabulary: int, **text: Any) -> Any:
    from transformers import BlipConfig

    text = {
        **size.dimensions, "vocab_size": vocabulary, "encoder_hidden_size": size.width,
        "max_position_embeddings": 512, "is_decoder": True, **text,
    }  # fmt: skip
    vision = {
        **size.dimensions,
        "image_size": size.pixels,
        "patch_size": 16,
        "layer_norm_eps": 1e-6,
    }
    return BlipConfig(text_config=text, vision_config=vision, image_text_hidden_size=256)


def random_captioner(size: Size) -> Captioner:
    """A BLIP captioner with the embedded captioner's small vocabulary and pictures."""
    from transformers import BlipForConditionalGeneration

    captioner = load_captioner(str(EMBEDDED_CAPTIONER))
    theirs = captioner.model.config.text_config
    pixels = int(captioner.model.config.vision_config.image_size)
    configuration = _blip_configuration(
        replace(size, pixels=pixels), theirs.vocab_size, bos_token_id=theirs.bos_token_id,
        sep_token_id=theirs.sep_token_id, pad_token_id=theirs.pad_token_id,
    )  # fmt: skip
    model = _with_random_weights(BlipForConditionalGeneration, configuration)
    model.generation_config = captioner.model.generation_config
    return replace(captioner, name="random weights", model=model)


def _clip(size: Size | None) -> Any:
    from transformers import CLIPConfig, CLIPModel

    text_size = size or Size(width=512, heads=8)
    image_size = size or Size(pixels=224)
    text = {
        **text_size.dimensions, "vocab_size": _CLIP, "max_position_embeddings": 77,
        "hidden_act": "quick_gelu", "bos_token_id": _CLIP - 2, "eos_token_id": _CLIP - 1,
        "pad_token_id": _CLIP - 1, "projection_dim": text_size.width,
    }  # fmt: skip
    vision = {
        **image_size.dimensions, "image_size": image_size.pixels, "patch_size": 32,
        "projection_dim": text_size.width,
    }  # fmt: skip
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=text_size.width)
    return _with_random_weights(CLIPModel, config)


def _siglip(size: Size | None) -> Any:
    from transformers import SiglipConfig, SiglipModel

    size = size or Size(pixels=224)
    text = {
        **size.dimensions, "vocab_size": _SIGLIP, "max_position_embeddings": 64,
        "bos_token_id": None, "eos_token_id": 1,
    }  # fmt: skip
    vision = {**size.dimensions, "image_size": size.pixels, "patch_size": 16}
    return _with_random_weights(SiglipModel, SiglipConfig(text_config=text, vision_config=vision))


def _with_random_weights(architecture: Any, config: Any) -> Any:
    """A model with the weights of `spread`, without first drawing those that it replaces."""
    from transformers.initialization import no_init_weights

    with no_init_weights():
        model = architecture(config)
    for module in model.modules():
        if isinstance(module, nn.Conv2d | nn.LayerNorm):
            module.reset_parameters()
        elif not isinstance(module, nn.Linear | nn.Embedding):
            for parameter in module.parameters(recurse=False):
                nn.init.normal_(parameter, std=0.02)
    return spread(model)


@torch.no_grad()
def spread(model: nn.Module, seed: int = 0) -> nn.Module:
    """Set random weights large enough that attention and scores depend on the words.

    With the default initialisation all captions score nearly the same, so nothing would be tested.
    """
    rng = torch.Generator().manual_seed(seed)
    for name, module in model.named_modules():
        if isinstance(module, nn.Linear):
            gain = (
                1.5 if any(part in name for part in ("query", "key", "q_proj", "k_proj")) else 0.7
            )
            weight = torch.randn(module.weight.shape, generator=rng)
            module.weight.copy_(weight * gain / math.sqrt(module.in_features))
            if module.bias is not None:
                module.bias.copy_(torch.randn(module.bias.shape, generator=rng) * 0.05)
        elif isinstance(module, nn.Embedding):
            scale = 0.6 if "position" in name else 1.0
            module.weight.copy_(torch.randn(module.weight.shape, generator=rng) * scale)
    return model.eval()


_SUBJECTS = (
    "a man",
    "two girls",
    "an old woman",
    "a brown dog",
    "the tall waiter",
    "some children",
)
_VERBS = ("holds", "looks at", "walks past", "carries", "is painting", "waits for")
_OBJECTS = ("a red bicycle", "the last train", "a wooden table", "an empty glass", "two suitcases")
_PLACES = ("in a park", "on the beach", "near the station", "under a bridge", "beside a parked car")
_REST = ("on a sunny day", "with a small child", "while it is raining", "and smiles", "at night")


def make_captions(count: int, words: tuple[int, int], seed: int = 0) -> list[str]:
    """Captions whose lengths are spread evenly over the range `words`, both ends included."""
    rng = random.Random(seed)
    shortest, longest = words
    captions = []
    for index in range(count):
        length = shortest + index % (longest - shortest + 1)
        text = ""
        while len(text.split()) < length:
            parts = (_SUBJECTS, _VERBS, _OBJECTS, _PLACES, _REST)
            text += " ".join(rng.choice(part) for part in parts) + " and "
        captions.append(" ".join(text.split()[:length]))
    return captions


@dataclass
class HashReader:
    """Hashes each word to one token, or two if it is long, about as many as a real tokenizer makes:
    no vocabulary is available offline.

    `vocabulary`: number of tokens; `context`: maximum length, special tokens included; `tokenizer`:
    provides the special token ids that scorers use.
    """

    vocabulary: int
    context: int
    tokenizer: object

    def tokenise(self, captions: Sequence[str]) -> list[Tokens]:
        return [
            tuple(t for word in Caption.parse(caption).words for t in self._word(word))[
                : self.context - 2
            ]
            for caption in captions
        ]

    def tokens_of_words(self, caption: Caption) -> list[Tokens] | None:
        return [tuple(self._word(word)) for word in caption.words]

    def spans(self, caption: str) -> list[tuple[int, int]]:
        parsed = Caption.parse(caption)
        spans = []
        for word, (start, end) in zip(parsed.words, parsed.spans, strict=True):
            middle = (start + end) // 2
            spans += (
                [(start, end)] if len(self._word(word)) == 1 else [(start, middle), (middle, end)]
            )
        return spans[: self.context - 2]

    def decode(self, tokens: Tokens) -> str:
        return " ".join(f"w{token}" for token in tokens)

    def words_read(self, caption: str) -> int:
        return len(Caption.parse(caption))

    def replaceable(self, whole_words: bool) -> BoolArray:
        return (np.arange(self.vocabulary) >= 2000) & (np.arange(self.vocabulary) < 20_000)

    def _word(self, word: str) -> list[int]:
        key = zlib.crc32(word.lower().encode())
        return [2000 + (key >> (8 * part)) % 18_000 for part in range(1 + (len(word) > 9))]
