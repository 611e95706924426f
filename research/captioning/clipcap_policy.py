"""ClipCap as a policy. Its images are CLIP vectors, which a frozen encoder never changes, or pixels
if the encoder is trained as well."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from backend.features.captioners.clipcap import ClipCap
from research.captioning.captioner_recipe import Side
from research.captioning.policy import Images, Policy, Samples
from research.lora import with_lora

#: Maximum number of tokens of a sampled caption, as in published code.
LONGEST = 50
#: Linear layers that LoRA adapts, by kind of language model; all layers for other kinds. GPT-2's
#: are as published.
_ADAPTED = {"gpt2": ["attn.c_attn", "attn.c_proj"]}
#: The same of CLIP's image tower, as published: query, key, value, and both feed-forward layers.
_ADAPTED_IN_CLIP = ["q_proj", "k_proj", "v_proj", "fc1", "fc2"]


class ClipCapPolicy(Policy):
    """Trains `captioner` in place: the whole prefix network, and one `side` or both, the language
    model (SR-L) and the image tower (SR-V), fully or, with a `rank`, by LoRA.

    Images are unit vectors [n, d], or pixels [n, 3, height, width] if the vision side is trained:
    `images_of` makes them. `seed`: of LoRA's initial weights. Raises ModelUnavailable if LoRA needs
    the package peft.
    """

    def __init__(
        self,
        captioner: ClipCap,
        longest: int = LONGEST,
        rank: int | None = None,
        seed: int = 0,
        side: Side = "language",
    ) -> None:
        self.captioner = captioner
        model, sees_pixels = captioner.model, side != "language"
        model.requires_grad_(True)
        model.vision.requires_grad_(sees_pixels)
        model.language_model.requires_grad_(side != "vision")
        if rank is not None and side != "vision":
            kind = str(model.language_model.config.model_type)
            layers = _ADAPTED.get(kind, "all-linear")
            # Alpha is half the rank, as in the paper.
            model.language_model = with_lora(
                model.language_model, rank, max(1, rank // 2), layers, seed=seed,
                transposed=layers != "all-linear",
            )  # fmt: skip
        if rank is not None and sees_pixels:
            model.vision = with_lora(
                model.vision, rank, max(1, rank // 2), _ADAPTED_IN_CLIP, seed=seed
            )
        super().__init__(
            model, captioner.tokenizer, captioner.image_processor, sees_pixels,
            min(longest, model.positions), captioner.end,
        )  # fmt: skip

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.model.see(pixels)

    def next_logits(
        self, memory: torch.Tensor, last: torch.Tensor | None, past: Any, step: int
    ) -> tuple[torch.Tensor, Any]:
        if last is None:
            inputs = self.model.prefixes(memory)
        else:
            embeddings = self.model.language_model.get_input_embeddings()
            inputs = embeddings(last.to(memory.device))[:, None]
        output = self.model.language_model(
            inputs_embeds=inputs, past_key_values=past, use_cache=True
        )
        return output.logits[:, -1], output.past_key_values

    def save(self, folder: Path) -> None:
        """Write the captioner, LoRA merged into its weights."""
        model = copy.deepcopy(self.captioner.model)
        for name in ("language_model", "vision"):
            part = getattr(model, name)
            if hasattr(part, "merge_and_unload"):
                setattr(model, name, part.merge_and_unload())
        replace(self.captioner, model=model).save(folder)

    def logits(self, images: Images, samples: Samples) -> torch.Tensor:
        # Tokens after the end are arbitrary, and may be outside the vocabulary.
        tokens = samples.tokens.masked_fill(~samples.mask, self.end).to(self.device)
        logits: torch.Tensor = self.model(self.memory(images), tokens[:, :-1])
        return logits

    def samples_of(self, captions: Sequence[str]) -> Samples:
        read = self.captioner.tokens_and_spans(captions, self.longest)
        return self.pad([[*tokens, self.end][: self.longest] for tokens, _ in read])

    def train(self, mode: bool = True) -> None:
        self.model.train(mode)
        self.model.vision.eval()
