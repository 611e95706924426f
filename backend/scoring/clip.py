"""CLIP: s is the cosine of image and text embedding (TRACED §3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import normalize

from backend.scoring.cosine import cosine_scores
from backend.scoring.dual_encoder import DualEncoder
from backend.scoring.protocol import FloatArray, ImageState


@dataclass
class ClipScorer(DualEncoder):
    """A `CLIPModel` with its processor. An image's state is its unit embedding, shape [d]."""

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        return cosine_scores(requests, self.text_embeddings)

    def _see(self, pixels: torch.Tensor) -> list[ImageState]:
        seen = self.model.vision_model(pixel_values=pixels)
        vectors = self.model.visual_projection(seen.pooler_output)
        return list(normalize(vectors.float(), dim=-1).cpu())

    def _read(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        read = self.model.text_model(input_ids=ids, attention_mask=mask)
        vectors: torch.Tensor = self.model.text_projection(read.pooler_output)
        return vectors

    def _width(self) -> int:
        return int(self.model.config.projection_dim)
