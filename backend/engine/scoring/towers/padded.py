"""Text towers that require padding to a fixed length, as in training.

SigLIP and some open_clip towers attend to their padding, so omitting it would change the score.
Each distinct text is still read only once, in full batches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import normalize

from backend.engine.scoring.batch_memory import TokenBudget
from backend.engine.scoring.cosine import CosineSession
from backend.engine.scoring.protocol import FloatArray, Tokens


@dataclass(frozen=True)
class PaddedText:
    """A text tower as a function.

    * `encode`: maps ids [texts, length] to vectors [texts, d] of any norm;
    * `whole`: maps a text's own tokens to all of its ids, padding included;
    * `embedding`: the token embedding module, where gradients are captured;
    * `own_token`: index of a text's first own token in its ids.
    """

    encode: Callable[[torch.Tensor], torch.Tensor]
    whole: Callable[[Tokens], Sequence[int]]
    embedding: Any
    own_token: int
    length: int
    width: int


class PaddedSession(CosineSession):
    def __init__(self, tower: PaddedText, budget: TokenBudget, precision: Any) -> None:
        super().__init__(budget.pace.pairs)
        self._tower = tower
        self._budget = budget
        self._precision = precision
        self._device = tower.embedding.weight.device

    def _read(self, groups: Sequence[Sequence[Tokens]]) -> dict[Tokens, FloatArray]:
        texts = [text for group in groups for text in group]
        vector_of: dict[Tokens, FloatArray] = {}

        @torch.inference_mode()
        def compute(part: range) -> None:
            ids = self._ids(texts[part.start : part.stop])
            with self._precision():
                vectors = normalize(self._tower.encode(ids).float(), dim=-1).cpu().numpy()
            vector_of.update(zip(texts[part.start : part.stop], vectors, strict=True))
            self.work.sequences += len(part)
            self.work.tokens += ids.numel()

        self._budget.each([self._tower.length] * len(texts), compute)
        return vector_of

    def vectors_with_gradients(
        self, texts: Sequence[Tokens]
    ) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        """A hook replaces the output of the embedding table by autograd leaves."""
        table = self._tower.embedding.weight.detach()
        ids = self._ids(texts)
        first = self._tower.own_token
        leaves = [
            table[ids[row, first : first + len(text)]].detach().requires_grad_()
            for row, text in enumerate(texts)
        ]

        def exchange(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            rows = [
                torch.cat([output[row, :first], leaf, output[row, first + len(leaf) :]])
                for row, leaf in enumerate(leaves)
            ]
            return torch.stack(rows)

        handle = self._tower.embedding.register_forward_hook(exchange)
        try:
            vectors = normalize(self._tower.encode(ids).float(), dim=-1)
        finally:
            handle.remove()
        return vectors, leaves, table

    def _ids(self, texts: Sequence[Tokens]) -> torch.Tensor:
        rows = [list(self._tower.whole(text)) for text in texts]
        return torch.tensor(rows, dtype=torch.long, device=self._device)


def padded_to(ids: Sequence[int], length: int, filler: int) -> list[int]:
    """
    >>> padded_to([5, 6], 4, 0)
    [5, 6, 0, 0]
    """
    return [*ids, *[filler] * (length - len(ids))]
