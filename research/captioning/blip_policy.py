"""The policy of a BLIP captioner (`BlipForConditionalGeneration`).

Trains the language side (SR-L), the vision side (SR-V), or both (SR-LV), as in SR: either all
of their weights, or LoRA adapters, which are merged when the captioner is saved, so that it loads
like any other.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from PIL import Image

from backend.errors import ModelMismatch
from research.captioning.policy import Images, Samples, Side, TrainedModel, lengths_of
from research.lora import with_lora

#: Linear layers that LoRA adapts, as regular expressions of their names.
_ADAPTED: dict[Side, str] = {
    "language": r"text_decoder\.bert\.encoder\..*\.(query|key|value|dense)",
    "vision": r"vision_model\.encoder\..*\.(qkv|projection|fc1|fc2)",
    "both": r"(text_decoder\.bert\.encoder\..*\.(query|key|value|dense)"
    r"|vision_model\.encoder\..*\.(qkv|projection|fc1|fc2))",
}
_ENCODED_TOGETHER = 100


class BlipPolicy(TrainedModel):
    """Trains `model` in place, so load a separate copy. See `policy.Policy`.

    `model`, `processor`: of a loaded BLIP `Captioner`; `rank`: of LoRA, None to train all weights
    of the side; `longest`: tokens of a sample; `seed`: of LoRA's initial weights. The images are
    the encoder's output [n, patches + 1, width], or pixels [n, 3, height, width] if the vision side
    is trained: `images_of` makes them. Raises ModelMismatch if the model is not a BLIP captioner or
    has no end token, ModelUnavailable if LoRA needs the package peft.
    """

    def __init__(
        self,
        model: Any,
        processor: Any,
        side: Side = "language",
        rank: int | None = None,
        longest: int = 32,
        seed: int = 0,
    ) -> None:
        if getattr(model.config, "model_type", None) != "blip":
            raise ModelMismatch("Only a BLIP captioner can be trained this way.")
        text = model.config.text_config
        if text.sep_token_id is None or text.bos_token_id is None:
            raise ModelMismatch("The captioner does not define the token that ends a caption.")
        self._begin, self._end = int(text.bos_token_id), int(text.sep_token_id)
        # The token that a caption begins with also takes a position.
        self._longest = min(longest, int(text.max_position_embeddings) - 1)
        self._processor = processor
        self._sees = side != "language"
        model.requires_grad_(False)
        if rank is None:
            if side != "vision":
                model.text_decoder.requires_grad_(True)
            if side != "language":
                model.vision_model.requires_grad_(True)
        else:
            # Alpha is half the rank, as in the paper.
            model = with_lora(model, rank, max(1, rank // 2), _ADAPTED[side], seed=seed)
        super().__init__(model, processor.tokenizer)

    @property
    def longest(self) -> int:
        return self._longest

    @property
    def end(self) -> int:
        return self._end

    @torch.no_grad()
    def images_of(self, images: Sequence[Image.Image]) -> Images:
        """Inputs of `sample` and `logits`, on the CPU: keep them instead of the pictures."""
        made = []
        for first in range(0, len(images), _ENCODED_TOGETHER):
            part = list(images[first : first + _ENCODED_TOGETHER])
            pixels = self._processor.image_processor(images=part, return_tensors="pt")
            values = pixels["pixel_values"]
            made.append(values if self._sees else self._encoded(values.to(self._device)).cpu())
        return torch.cat(made)

    @torch.no_grad()
    def sample(self, images: Images, temperature: float, generator: torch.Generator) -> Samples:
        was_training = self.model.training
        self.model.eval()
        memory = self._memory(images)
        tokens = torch.full((len(memory), 1), self._begin, device=memory.device)
        mask = torch.ones_like(tokens)
        done = torch.zeros(len(memory), dtype=torch.bool, device=memory.device)
        cache = None
        drawn: list[torch.Tensor] = []
        while len(drawn) < self._longest and not bool(done.all()):
            output = self._base.text_decoder(
                input_ids=tokens, attention_mask=mask, encoder_hidden_states=memory,
                past_key_values=cache, use_cache=True, return_dict=True,
            )  # fmt: skip
            cache = output.past_key_values
            logits = output.logits[:, -1].float()
            if temperature > 0:
                p = (logits / temperature).softmax(-1).cpu()
                tokens = torch.multinomial(p, 1, generator=generator).to(memory.device)
            else:
                tokens = logits.argmax(-1, keepdim=True)
            drawn.append(tokens)
            done |= tokens[:, 0] == self._end
            mask = torch.cat([mask, torch.ones_like(tokens)], 1)
        self.model.train(was_training)
        sampled = torch.cat(drawn, 1)
        return Samples(sampled, lengths_of(sampled, self._end))

    def logits(self, images: Images, samples: Samples) -> torch.Tensor:
        memory = self._memory(images)
        inside = samples.tokens.masked_fill(~samples.mask, self._end).to(memory.device)
        begin = torch.full((len(inside), 1), self._begin, device=memory.device)
        # A causal decoder: tokens after the end change nothing before it.
        ids = torch.cat([begin, inside[:, :-1]], 1)
        logits: torch.Tensor = self._base.text_decoder(
            input_ids=ids, attention_mask=torch.ones_like(ids), encoder_hidden_states=memory,
            use_cache=False, return_dict=True,
        ).logits  # fmt: skip
        return logits

    def samples_of(self, captions: Sequence[str]) -> Samples:
        read = self._tokenizer(
            list(captions), add_special_tokens=False, truncation=True, max_length=self._longest - 1
        )["input_ids"]
        lengths = torch.tensor([len(tokens) + 1 for tokens in read])
        made = torch.full((len(read), int(lengths.max())), self._end)
        for row, tokens in enumerate(read):
            made[row, : len(tokens)] = torch.tensor(tokens, dtype=torch.long)
        return Samples(made.to(self._device), lengths.to(self._device))

    def train(self, mode: bool = True) -> None:
        self.model.train(mode)

    def save(self, folder: Path) -> None:
        """Write the captioner in the Hub's format, LoRA merged into its weights."""
        merged = copy.deepcopy(self.model)
        if hasattr(merged, "merge_and_unload"):
            merged = merged.merge_and_unload()
        merged.requires_grad_(True)
        merged.save_pretrained(folder)
        self._processor.save_pretrained(folder)

    @property
    def _base(self) -> Any:
        """The BLIP model, inside or outside of peft's."""
        return self.model.get_base_model() if hasattr(self.model, "peft_config") else self.model

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _memory(self, images: Images) -> torch.Tensor:
        images = images.to(self._device)
        return self._encoded(images) if self._sees else images

    def _encoded(self, pixels: torch.Tensor) -> torch.Tensor:
        hidden: torch.Tensor = self._base.vision_model(pixels).last_hidden_state
        return hidden
