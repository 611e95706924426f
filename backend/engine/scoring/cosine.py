"""s as the cosine of an image's and a caption's embedding: CLIP, SigLIP, BLIP-ITC, open_clip."""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import torch

from backend.engine.scoring.protocol import FloatArray, ImageState, Tokens, Work

#: Text vectors cached: enough for the candidates of many live pairs until those are finished.
_KEPT = 65_536


def with_leaves(
    texts: Sequence[Sequence[int]], table: torch.Tensor
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Embeddings [len, width] of texts with a special token before and after, by the embedding
    `table`; and those of each text's own tokens, which are autograd leaves."""
    ids = [torch.tensor(text) for text in texts]
    leaves = [table[text[1:-1]].detach().requires_grad_() for text in ids]
    words = [
        torch.cat([table[text[:1]], leaf, table[text[-1:]]])
        for text, leaf in zip(ids, leaves, strict=True)
    ]
    return words, leaves


def gains_of(
    total: torch.Tensor, leaves: Sequence[torch.Tensor], table: torch.Tensor
) -> list[FloatArray]:
    """The gradient of `total` at each text's embeddings [len, width], times every embedding.

    Shape [len, vocabulary] for each text."""
    gradients = torch.autograd.grad(total, leaves)
    with torch.no_grad():
        return [(g.float() @ table.float().T).cpu().numpy() for g in gradients]


class CosineSession(ABC):
    """Embeds each distinct text once; states are unit vectors [d] on the CPU."""

    def __init__(self, live: int = 48) -> None:
        self.work = Work()
        self.embedding_work = Work()  # stays empty: scores are computed from the same vectors
        self.live = live
        self._known: OrderedDict[Tokens, FloatArray] = OrderedDict()

    @abstractmethod
    def _read(self, groups: Sequence[Sequence[Tokens]]) -> dict[Tokens, FloatArray]:
        """Each text's unit vector [d]; texts are distinct, groups may be empty."""

    @abstractmethod
    def vectors_with_gradients(
        self, texts: Sequence[Tokens]
    ) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
        """Unit vectors [texts, d]; for each text the embeddings [len, width] of its own tokens, as
        autograd leaves; and the embedding table [vocabulary, width]."""

    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        self._learn([texts for _, texts in requests])
        # A sum per row: a matrix product would round equal rows differently.
        return [
            (self._rows(texts) * state.numpy()).sum(1, dtype=np.float32)
            if texts
            else np.zeros(0, np.float32)
            for state, texts in requests
        ]

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        # These texts are not candidates of one pair and share few prefixes: small groups.
        self._learn([texts[first : first + 16] for first in range(0, len(texts), 16)])
        return self._rows(texts) if texts else np.zeros((0, 1), np.float32)

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        with torch.enable_grad():
            vectors, leaves, table = self.vectors_with_gradients([text for _, text in requests])
            images = torch.stack([state.clone() for state, _ in requests]).to(vectors.device)
            return gains_of((vectors * images).sum(), leaves, table)

    def _learn(self, groups: Sequence[Sequence[Tokens]]) -> None:
        texts_read: set[Tokens] = set()
        fresh: list[list[Tokens]] = []
        for texts in groups:
            for text in texts:
                if text in self._known:
                    self._known.move_to_end(text)
            new = [t for t in dict.fromkeys(texts) if t not in self._known and t not in texts_read]
            texts_read.update(new)
            fresh.append(new)
        if texts_read:
            self._known.update(self._read(fresh))
        total = sum(map(len, groups))
        while len(self._known) > max(_KEPT, total):
            self._known.popitem(last=False)

    def _rows(self, texts: Sequence[Tokens]) -> FloatArray:
        return np.stack([self._known[text] for text in texts])
