"""SigLIP through Hugging Face: s is the cosine of image and text embedding.

SigLIP's own probability, sigmoid(scale · cosine + bias), rises with the cosine, so the order of
captions is the same. Captions are padded to the model's length and the padding is attended to, as
in its training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from PIL import Image
from torch.nn.functional import normalize

from backend.scoring.dual_encoder import DualEncoder
from backend.scoring.padded import PaddedSession, PaddedText, padded_to
from backend.scoring.protocol import ImageState, Session, Tokens


@dataclass
class SiglipScorer(DualEncoder):
    """A `SiglipModel`. An image's state is its unit embedding, shape [d]."""

    image_processor: Any

    @cached_property
    def tower(self) -> PaddedText:
        text = self.model.config.text_config
        tokenizer = self.reader.tokenizer  # type: ignore[attr-defined]
        length = int(text.max_position_embeddings)
        end, filler = int(tokenizer.eos_token_id), int(tokenizer.pad_token_id or 0)

        def whole(tokens: Tokens) -> Sequence[int]:
            return padded_to([*tokens[: length - 1], end], length, filler)

        return PaddedText(
            encode=lambda ids: self.model.text_model(input_ids=ids).pooler_output,
            whole=whole,
            embedding=self.model.text_model.embeddings.token_embedding,
            own=0,
            length=length,
            width=int(text.hidden_size),
        )

    def open_session(self) -> Session:
        tower = self.tower
        return PaddedSession(tower, self.budget(20 * tower.width * 4), self.precision)

    def pixels(self, images: Sequence[Image.Image]) -> torch.Tensor:
        found = self.image_processor(images=list(images), return_tensors="pt")
        pixels: torch.Tensor = found["pixel_values"]
        return pixels

    def _see(self, pixels: torch.Tensor) -> list[ImageState]:
        seen = self.model.vision_model(pixel_values=pixels).pooler_output
        return list(normalize(seen.float(), dim=-1).cpu())
