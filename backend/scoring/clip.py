"""CLIP: s is the cosine of image and text embedding (TRACED §3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import normalize

from backend.scoring.batching import IMAGES_A_BATCH, batches, pad, words_within
from backend.scoring.cosine import cosine_scores
from backend.scoring.protocol import FloatArray, ImageState, ScorerInfo


@dataclass
class ClipScorer:
    """A `CLIPModel` with its processor. An image's state is its unit embedding, shape [d]."""

    info: ScorerInfo
    model: Any
    processor: Any
    context: int

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        found: list[ImageState] = []
        for first in range(0, len(images), IMAGES_A_BATCH):
            found += self._encode(images[first : first + IMAGES_A_BATCH])
        return found

    def _encode(self, images: Sequence[Image.Image]) -> list[ImageState]:
        pixels = self.processor.image_processor(images=list(images), return_tensors="pt")
        seen = self.model.vision_model(pixel_values=pixels["pixel_values"].to(self.info.device))
        vectors = self.model.visual_projection(seen.pooler_output)
        return list(normalize(vectors.float(), dim=-1).cpu())

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        return cosine_scores(requests, self.text_embeddings)

    @torch.inference_mode()
    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        sequences = self._tokens(captions)
        found = np.zeros((len(captions), self.model.config.projection_dim), np.float32)
        for batch in batches([len(sequence) for sequence in sequences]):
            ids, mask = pad(
                [sequences[i] for i in batch],
                int(self.processor.tokenizer.pad_token_id or 0),
                self.info.device,
            )
            read = self.model.text_model(input_ids=ids, attention_mask=mask)
            vectors = self.model.text_projection(read.pooler_output)
            found[batch] = normalize(vectors.float(), dim=-1).cpu().numpy()
        return found

    def words_read(self, caption: str) -> int:
        return words_within(self.processor.tokenizer, caption, self.context)

    def _tokens(self, captions: Sequence[str]) -> list[list[int]]:
        if not captions:
            return []
        found: list[list[int]] = self.processor.tokenizer(
            list(captions), truncation=True, max_length=self.context
        )["input_ids"]
        return found
