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

from backend.errors import ModelMismatch
from research.captioning.captioner_recipe import Side
from research.captioning.policy import Images, Policy, Samples
from research.lora import with_lora

#: Linear layers that LoRA adapts, as regular expressions of their names.
_ADAPTED: dict[Side, str] = {
    "language": r"text_decoder\.bert\.encoder\..*\.(query|key|value|dense)",
    "vision": r"vision_model\.encoder\..*\.(qkv|projection|fc1|fc2)",
    "both": r"(text_decoder\.bert\.encoder\..*\.(query|key|value|dense)"
    r"|vision_model\.encoder\..*\.(qkv|projection|fc1|fc2))",
}


class BlipPolicy(Policy):
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
        self._begin, self._processor = int(text.bos_token_id), processor
        model.requires_grad_(False)
        if rank is None:
            if side != "vision":
                model.text_decoder.requires_grad_(True)
            if side != "language":
                model.vision_model.requires_grad_(True)
        else:
            # Alpha is half the rank, as in the paper.
            model = with_lora(model, rank, max(1, rank // 2), _ADAPTED[side], seed=seed)
        # The token that a caption begins with also takes a position.
        longest = min(longest, int(text.max_position_embeddings) - 1)
        super().__init__(
            model, processor.tokenizer, processor.image_processor, side != "language", longest,
            int(text.sep_token_id),
        )  # fmt: skip

    def encode(self, pixels: torch.Tensor) -> torch.Tensor:
        hidden_states: torch.Tensor = self._base.vision_model(pixels).last_hidden_state
        return hidden_states

    def next_logits(
        self, memory: torch.Tensor, last: torch.Tensor | None, past: Any, step: int
    ) -> tuple[torch.Tensor, Any]:
        if last is None:
            last = torch.full((len(memory),), self._begin)
        output = self._base.text_decoder(
            input_ids=last[:, None].to(memory.device), encoder_hidden_states=memory,
            attention_mask=torch.ones(len(memory), step + 1, dtype=torch.long).to(memory.device),
            past_key_values=past, use_cache=True, return_dict=True,
        )  # fmt: skip
        return output.logits[:, -1], output.past_key_values

    def logits(self, images: Images, samples: Samples) -> torch.Tensor:
        memory = self.memory(images)
        inside = samples.tokens.masked_fill(~samples.mask, self.end).to(memory.device)
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
            list(captions), add_special_tokens=False, truncation=True, max_length=self.longest - 1
        )["input_ids"]
        return self.pad([[*tokens, self.end] for tokens in read])

    def save(self, folder: Path) -> None:
        """Write the captioner in the Hub's format, LoRA merged into its weights."""
        model = copy.deepcopy(self.model)
        if hasattr(model, "merge_and_unload"):
            model = model.merge_and_unload()
        model.requires_grad_(True)
        model.save_pretrained(folder)
        self._processor.save_pretrained(folder)

    @property
    def _base(self) -> Any:
        """The BLIP model, inside or outside of peft's."""
        return self.model.get_base_model() if hasattr(self.model, "peft_config") else self.model
