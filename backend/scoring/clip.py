"""CLIP: s is the cosine of image and text embedding (TRACED §3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch.nn.functional import normalize

from backend.scoring.causal_text import CausalText, PrefixReader, from_clip
from backend.scoring.cosine import CosineSession
from backend.scoring.dual_encoder import DualEncoder, HubImages
from backend.scoring.memory import TokenBudget, images_that_fit
from backend.scoring.protocol import FloatArray, ImageState, Session, Tokens

#: Prefixes that a pair's candidates hold at a time, about: two rounds of a long caption.
_NODES_A_PAIR = 400


@dataclass
class ClipScorer(HubImages, DualEncoder):
    """A `CLIPModel` with its processor. An image's state is its unit embedding, shape [d]."""

    processor: Any

    @cached_property
    def tower(self) -> CausalText:
        return from_clip(self.model, self.dtype)

    def open_session(self) -> Session:
        return open_causal_session(self.tower, self.budget(self.tower.bytes_a_token))

    def _see(self, pixels: torch.Tensor) -> list[ImageState]:
        seen = self.model.vision_model(pixel_values=pixels)
        vectors = self.model.visual_projection(seen.pooler_output)
        return list(normalize(vectors.float(), dim=-1).cpu())


class CausalSession(CosineSession):
    """Texts through a causal tower, which shares their beginnings over two rounds."""

    def __init__(self, tower: CausalText, budget: TokenBudget, live: int) -> None:
        super().__init__(live)
        self.tower = tower
        self._reader = PrefixReader(tower, budget, self.work)

    def _read(self, groups: Sequence[Sequence[Tokens]]) -> list[FloatArray]:
        return [vectors.numpy() for vectors in self._reader.read(groups)]

    def vectors_with_gradients(
        self, texts: Sequence[Tokens]
    ) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        table = self.tower.token_table
        whole = [torch.tensor(self.tower.whole(text)) for text in texts]
        leaves = [table[tokens[1:-1]].detach().requires_grad_() for tokens in whole]
        rows = [
            torch.cat([table[tokens[:1]], leaf, table[tokens[-1:]]])
            for tokens, leaf in zip(whole, leaves, strict=True)
        ]
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
        return self.tower.read_embedded(padded, [len(row) for row in rows]), leaves, table


def open_causal_session(tower: CausalText, budget: TokenBudget) -> CausalSession:
    live = images_that_fit(_NODES_A_PAIR * tower.bytes_a_token, str(tower.device), 48)
    return CausalSession(tower, budget, live)
