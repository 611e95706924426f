"""ClipCap as a policy. Its images are CLIP vectors, which a frozen encoder never changes, or pixels
if the encoder is trained as well."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from PIL import Image

from backend.engine.captioning.clipcap import ClipCap
from research.captioning.policy import Images, Samples, Side, TrainedModel, lengths_of
from research.lora import with_lora

#: Maximum number of tokens of a sampled caption, as in published code.
LONGEST = 50
#: Linear layers that LoRA adapts, by kind of language model; all layers for other kinds. GPT-2's
#: are as published.
_ADAPTED = {"gpt2": ["attn.c_attn", "attn.c_proj"]}
#: The same of CLIP's image tower, as published: query, key, value, and both feed-forward layers.
_ADAPTED_IN_CLIP = ["q_proj", "k_proj", "v_proj", "fc1", "fc2"]
_ENCODED_TOGETHER = 100


class ClipCapPolicy(TrainedModel):
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
        self.sees_pixels = side != "language"
        self._longest = min(longest, captioner.model.positions)
        model = captioner.model
        model.requires_grad_(True)
        model.vision.requires_grad_(self.sees_pixels)
        model.language_model.requires_grad_(side != "vision")
        if rank is not None and side != "vision":
            kind = str(model.language_model.config.model_type)
            layers = _ADAPTED.get(kind, "all-linear")
            # Alpha is half the rank, as in the paper.
            model.language_model = with_lora(
                model.language_model, rank, max(1, rank // 2), layers, seed=seed,
                transposed=layers != "all-linear",
            )  # fmt: skip
        if rank is not None and self.sees_pixels:
            model.vision = with_lora(
                model.vision, rank, max(1, rank // 2), _ADAPTED_IN_CLIP, seed=seed
            )
        super().__init__(model, captioner.tokenizer)

    def images_of(self, images: Sequence[Image.Image]) -> Images:
        """Inputs of `sample` and `logits`, on the CPU."""
        if not self.sees_pixels:
            return self.captioner.vectors(images)
        made = []
        for first in range(0, len(images), _ENCODED_TOGETHER):
            part = list(images[first : first + _ENCODED_TOGETHER])
            read = self.captioner.image_processor(images=part, return_tensors="pt")
            made.append(read["pixel_values"])
        return torch.cat(made)

    def save(self, folder: Path) -> None:
        """Write the captioner, LoRA merged into its weights."""
        merged = copy.deepcopy(self.captioner.model)
        for name in ("language_model", "vision"):
            part = getattr(merged, name)
            if hasattr(part, "merge_and_unload"):
                setattr(merged, name, part.merge_and_unload())
        replace(self.captioner, model=merged).save(folder)

    @property
    def longest(self) -> int:
        return self._longest

    @property
    def end(self) -> int:
        return self.captioner.end

    @torch.no_grad()
    def sample(self, images: Images, temperature: float, generator: torch.Generator) -> Samples:
        """See `Policy.sample`. Reads each token once, with the language model's cache."""
        model, end = self.captioner.model, self.captioner.end
        was_training = model.training
        model.eval()
        inputs = model.prefixes(self._vectors(images))
        embeddings, past = model.language_model.get_input_embeddings(), None
        ended = torch.zeros(len(images), dtype=torch.bool)
        drawn: list[torch.Tensor] = []
        while len(drawn) < self.longest and not ended.all():
            output = model.language_model(
                inputs_embeds=inputs, past_key_values=past, use_cache=True
            )
            past, logits = output.past_key_values, output.logits[:, -1].float().cpu()
            if temperature > 0:
                probabilities = (logits / temperature).softmax(-1)
                tokens = torch.multinomial(probabilities, 1, generator=generator)[:, 0]
            else:
                tokens = logits.argmax(-1)
            drawn.append(tokens)
            ended |= tokens == end
            inputs = embeddings(tokens.to(self.captioner.device))[:, None]
        model.train(was_training)
        tokens = torch.stack(drawn, 1) if drawn else torch.zeros(0, 0, dtype=torch.long)
        return Samples(tokens, lengths_of(tokens, end))

    def logits(self, images: Images, samples: Samples) -> torch.Tensor:
        """See `Policy.logits`."""
        device = self.captioner.device
        # Tokens after the end are arbitrary, and may be outside the vocabulary.
        tokens = samples.tokens.masked_fill(~samples.mask, self.captioner.end).to(device)
        logits: torch.Tensor = self.model(self._vectors(images), tokens[:, :-1])
        return logits

    def samples_of(self, captions: Sequence[str]) -> Samples:
        """See `Policy.samples_of`."""
        end = self.captioner.end
        read = self.captioner.tokens_and_spans(captions, self.longest)
        rows = [[*tokens, end][: self.longest] for tokens, _ in read]
        tokens = torch.full((len(rows), max(map(len, rows), default=0)), end)
        for row, known in enumerate(rows):
            tokens[row, : len(known)] = torch.tensor(known)
        return Samples(tokens, torch.tensor([len(row) for row in rows], dtype=torch.long))

    def train(self, mode: bool = True) -> None:
        self.captioner.model.train(mode)
        self.captioner.model.vision.eval()

    def _vectors(self, images: Images) -> torch.Tensor:
        images = images.to(self.captioner.device)
        return self.captioner.model.see(images) if self.sees_pixels else images
