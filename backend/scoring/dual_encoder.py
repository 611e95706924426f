"""What CLIP and BLIP share: images in batches, tokens, text embeddings, the context's end."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import normalize

from backend.scoring.batching import IMAGES_A_BATCH, batches, pad, words_within
from backend.scoring.protocol import FloatArray, ImageState, ScorerInfo


@dataclass
class DualEncoder(ABC):
    """An image tower and a text tower of Hugging Face, with their processor."""

    info: ScorerInfo
    model: Any
    processor: Any
    context: int

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        found: list[ImageState] = []
        for first in range(0, len(images), IMAGES_A_BATCH):
            batch = list(images[first : first + IMAGES_A_BATCH])
            pixels = self.processor.image_processor(images=batch, return_tensors="pt")
            found += self._see(pixels["pixel_values"].to(self.info.device))
        return found

    @torch.inference_mode()
    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        sequences = self._tokens(captions)
        found = np.zeros((len(captions), self._width()), np.float32)
        for batch in batches([len(sequence) for sequence in sequences]):
            ids, mask = self._padded([sequences[i] for i in batch])
            found[batch] = normalize(self._read(ids, mask).float(), dim=-1).cpu().numpy()
        return found

    def words_read(self, caption: str) -> int:
        return words_within(self.processor.tokenizer, caption, self.context)

    @abstractmethod
    def _see(self, pixels: torch.Tensor) -> list[ImageState]:
        """States of a batch of images."""

    @abstractmethod
    def _read(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Text vectors of a batch, not yet of unit length, shape [texts, width]."""

    @abstractmethod
    def _width(self) -> int:
        """Numbers in a text vector."""

    def _tokens(self, captions: Sequence[str]) -> list[list[int]]:
        if not captions:
            return []
        found: list[list[int]] = self.processor.tokenizer(
            list(captions), truncation=True, max_length=self.context
        )["input_ids"]
        return found

    def _padded(self, sequences: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        filler = int(self.processor.tokenizer.pad_token_id or 0)
        return pad(sequences, filler, self.info.device)
