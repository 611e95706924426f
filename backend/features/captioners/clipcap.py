"""ClipCap: a CLIP vector, a prefix network, and a causal language model (Mokady et al., 2021).

    image -> CLIP -> unit vector z [d] -> W2 tanh(W1 sqrt(d) z) -> prefix [k, width] -> language
    model -> caption

The prefix is read through `inputs_embeds`, before the tokens of the caption; its last vector
predicts the first token. With d = 512, k = 10 and GPT-2 (width 768) the prefix network is the
published 512 -> 3,840 -> 7,680 (SR, section 4 and Table 11). We scale z to entries of size 1, which
published code leaves to training.

A folder holds one captioner, in files of the Hub's usual formats:

    config.json              model_type "clipcap", prefix length, configurations of both models
    model.safetensors        all weights: vision.*, prefix.*, language_model.*
    tokenizer.json           (and tokenizer_config.json) of the language model
    preprocessor_config.json of CLIP
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import nn

from backend.engine import hub
from backend.engine.hub_cache import snapshot_of
from backend.engine.model_fit import check_image_processor, check_tokenizer
from backend.errors import ModelMismatch, ModelUnavailable

#: `model_type` in config.json.
MODEL_TYPE = "clipcap"
#: Number of vectors before a caption, as published.
PREFIX = 10
#: Batch size of CLIP.
_IMAGES_AT_ONCE = 16
#: Positions of language models whose configuration does not limit them.
_MANY_POSITIONS = 1024
#: CLIP and the same architecture under another name: the whole model, its image tower.
CLIPS = {
    "clip": ("CLIPModel", "CLIPVisionModelWithProjection"),
    "metaclip_2": ("MetaClip2Model", "MetaClip2VisionModelWithProjection"),
}
_TOWERS = {"clip_vision_model": "clip", "metaclip_2_vision_model": "metaclip_2"}
_FOLDER_ADVICE = "Train the captioner again."


class ClipCapModel(nn.Module):
    """The image tower with its projection, the prefix network and the language model."""

    def __init__(self, vision: Any, language_model: Any, prefix_length: int = PREFIX) -> None:
        super().__init__()
        self.vision: Any = vision
        self.language_model = language_model
        self.prefix_length = prefix_length
        self.vector_width = int(vision.visual_projection.out_features)
        self.width = int(language_model.get_input_embeddings().embedding_dim)
        outputs = prefix_length * self.width
        self.prefix = nn.Sequential(
            nn.Linear(self.vector_width, max(1, outputs // 2)),
            nn.Tanh(),
            nn.Linear(max(1, outputs // 2), outputs),
        )

    @property
    def weight(self) -> torch.Tensor:
        """A trained weight, for its type and device."""
        return next(self.prefix.parameters())

    @property
    def positions(self) -> int:
        """Maximum number of tokens of a caption, including its end token."""
        config = self.language_model.config
        most = int(getattr(config, "max_position_embeddings", None) or _MANY_POSITIONS)
        return most - self.prefix_length

    def see(self, pixels: torch.Tensor) -> torch.Tensor:
        """Unit vectors [n, d] of pictures preprocessed for CLIP."""
        return nn.functional.normalize(self.vision(pixel_values=pixels).image_embeds, dim=-1)

    def prefixes(self, vectors: torch.Tensor) -> torch.Tensor:
        """[n, prefix length, width] of unit vectors [n, d]."""
        inputs = vectors.to(self.weight) * self.vector_width**0.5
        prefix: torch.Tensor = self.prefix(inputs)
        return prefix.view(len(vectors), self.prefix_length, self.width)

    def embed(self, vectors: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Inputs of the language model: prefixes, then `tokens` [n, length] as embeddings,
        [n, prefix length + length, width]."""
        words = self.language_model.get_input_embeddings()(tokens)
        return torch.cat([self.prefixes(vectors), words], 1)

    def forward(self, vectors: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of the tokens after the prefix and after each of `tokens` [n, length], shape
        [n, length + 1, vocabulary]. Tokens on the right do not change those on the left, so that
        padding needs no mask."""
        inputs = self.embed(vectors, tokens)
        logits: torch.Tensor = self.language_model(inputs_embeds=inputs, use_cache=False).logits
        return logits[:, self.prefix_length - 1 :]


@dataclass(frozen=True)
class ClipCap:
    """A ClipCap with its image processor and tokenizer. `clip`, `language_model`: names of the
    models that it was made from."""

    model: ClipCapModel
    tokenizer: Any
    image_processor: Any
    clip: str = ""
    language_model: str = ""

    @property
    def end(self) -> int:
        """The token that ends a caption."""
        return int(self.tokenizer.eos_token_id)

    @property
    def device(self) -> torch.device:
        return self.model.weight.device

    @torch.inference_mode()
    def vectors(self, images: Sequence[Image.Image]) -> torch.Tensor:
        """Unit vectors of images, float32 [n, d] on the CPU."""
        parts = [torch.zeros(0, self.model.vector_width)]
        for first in range(0, len(images), _IMAGES_AT_ONCE):
            batch = list(images[first : first + _IMAGES_AT_ONCE])
            pixels = self.image_processor(images=batch, return_tensors="pt")["pixel_values"]
            parts.append(self.model.see(pixels.to(self.device)).float().cpu())
        return torch.cat(parts)

    def tokens_and_spans(
        self, captions: Sequence[str], longest: int
    ) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """For each caption its tokens, at most `longest`, and their character spans. The end token
        is never among them, even if its name is part of the text."""
        if not captions:
            return []
        encoding = self.tokenizer(
            list(captions), truncation=True, max_length=max(1, longest), add_special_tokens=False,
            return_offsets_mapping=True,
        )  # fmt: skip
        results = []
        for tokens, spans in zip(encoding["input_ids"], encoding["offset_mapping"], strict=True):
            pairs = [(t, tuple(s)) for t, s in zip(tokens, spans, strict=True) if t != self.end]
            results.append(([t for t, _ in pairs], [s for _, s in pairs]))
        return results

    def save(self, folder: Path) -> None:
        """Write the captioner in the format above."""
        from safetensors.torch import save_model

        folder.mkdir(parents=True, exist_ok=True)
        model = self.model
        configuration = {
            "model_type": MODEL_TYPE,
            "architectures": [type(model).__name__],
            "prefix_length": model.prefix_length,
            "made_from": {"clip": self.clip, "language_model": self.language_model},
            "clip": model.vision.config.to_dict(),
            "language_model": model.language_model.config.to_dict(),
        }
        content = json.dumps(configuration, indent=2, default=str)
        (folder / "config.json").write_text(content + "\n", encoding="utf-8")
        # Tied weights (the embeddings and the head of GPT-2) are written once.
        save_model(model, str(folder / "model.safetensors"), metadata={"format": "pt"})
        self.tokenizer.save_pretrained(folder)
        self.image_processor.save_pretrained(folder)


def is_clipcap(name: str | Path) -> bool:
    """Whether a directory or a downloaded hub model is a ClipCap."""
    folder = _folder_of(name)
    return folder is not None and _configuration(folder).get("model_type") == MODEL_TYPE


def load_clipcap(name: str | Path, device: str = "cpu") -> ClipCap:
    """Load a saved ClipCap by directory or hub name.

    Raises ModelUnavailable for a missing or damaged file, ModelMismatch for weights that do not
    match the configuration.
    """
    from transformers import AutoConfig, AutoImageProcessor, AutoModelForCausalLM
    from transformers import PreTrainedTokenizerFast as Tokenizer

    what, advice = "The captioner", _FOLDER_ADVICE
    hub.from_cache(what, str(name))
    folder = _folder_of(name)
    if folder is None or not is_clipcap(folder):
        raise ModelMismatch(f"'{name}' is not a ClipCap captioner. {advice}")
    with hub.failures_explained(what, str(folder), advice):
        settings = _configuration(folder)
        vision = vision_of(AutoConfig.for_model(**settings["clip"]))
        configuration = AutoConfig.for_model(**settings["language_model"])
        language_model = AutoModelForCausalLM.from_config(configuration, dtype=torch.float32)
        model = ClipCapModel(vision, language_model, int(settings["prefix_length"]))
        _read_weights(model, folder)
    tokenizer = hub.load(Tokenizer, folder, what, advice)
    image_processor = hub.load(AutoImageProcessor, folder, what, advice)
    rows = int(language_model.get_input_embeddings().num_embeddings)
    check_tokenizer(str(name), tokenizer, rows)
    if tokenizer.eos_token_id is None:
        raise ModelMismatch(f"The tokenizer of '{name}' has no end token (eos_token). {advice}")
    check_image_processor(str(name), image_processor, vision.config)
    made_from = settings.get("made_from", {})
    return ClipCap(
        model.eval().to(device), tokenizer, image_processor,
        str(made_from.get("clip", "")), str(made_from.get("language_model", "")),
    )  # fmt: skip


def _read_weights(model: ClipCapModel, folder: Path) -> None:
    """Raises ModelMismatch if weights are missing or unexpected."""
    from safetensors.torch import load_model

    path = folder / "model.safetensors"
    if not path.is_file():
        raise ModelUnavailable(f"'{folder}' has no model.safetensors. {_FOLDER_ADVICE}")
    missing, superfluous = load_model(model, str(path), strict=False)
    wrong = [*missing, *superfluous]
    if wrong:
        raise ModelMismatch(
            f"The weights of '{folder}' do not match its config.json: {len(wrong)} are "
            f"missing or unexpected (the first: {sorted(wrong)[0]}). {_FOLDER_ADVICE}"
        )


def vision_of(configuration: Any) -> Any:
    """An image tower of random weights."""
    import transformers

    kind = _TOWERS.get(str(configuration.model_type), "")
    if not kind:
        raise ModelMismatch(f"A {configuration.model_type} is not the image tower of a CLIP.")
    return getattr(transformers, CLIPS[kind][1])(configuration)


def _folder_of(name: str | Path) -> Path | None:
    folder = Path(name).expanduser()
    return folder if folder.is_dir() else snapshot_of(str(name))


def _configuration(folder: Path) -> dict[str, Any]:
    """config.json; empty if it is missing or unreadable."""
    try:
        configuration = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return configuration if isinstance(configuration, dict) else {}
