"""The reference: the whole model for every caption, nothing shared."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from backend.engine.embeddings import embed
from backend.engine.scoring.protocol import FloatArray, Tokens
from backend.engine.scoring.vqa.asked_model import AskedImage, AskedModel
from backend.engine.scoring.work import Work


@dataclass
class PlainSession:
    """For models that `is_exact` refuses, and for tests."""

    scorer: AskedModel
    live: int = 1
    work: Work = field(default_factory=Work)
    embedding_work: Work = field(default_factory=Work)

    def score(self, requests: Sequence[tuple[AskedImage, Sequence[Tokens]]]) -> list[FloatArray]:
        return [
            np.array([self._score(state, text) for text in texts], np.float32)
            for state, texts in requests
        ]

    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        """By the sentence model: a chat model has no vector for a caption."""
        return embed([self.scorer.reader.decode(text) for text in texts])

    def replacement_gains(self, requests: Sequence[tuple[AskedImage, Tokens]]) -> list[FloatArray]:
        return [self._gains(state, text) for state, text in requests]

    def _gains(self, state: AskedImage, text: Tokens) -> FloatArray:
        """A hook makes the embeddings of all tokens an autograd leaf; the whole sequence is read
        once, and once backwards."""
        table = self.scorer.model.get_input_embeddings()
        leaves: list[torch.Tensor] = []

        def exchange(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            leaves.append(output.detach().requires_grad_())
            return leaves[-1].clone()

        handle = table.register_forward_hook(exchange)
        try:
            with torch.enable_grad():
                logits = self.logits(state, (*text, *self.scorer.after))
                score = self.scorer.probabilities(logits[None])[0]
                (gradient,) = torch.autograd.grad(score, leaves[:1])
        finally:
            handle.remove()
        first = state.ids.shape[1]
        with torch.no_grad():
            ids = torch.arange(self.scorer.reader.vocabulary, device=gradient.device)
            gains = [
                gradient[0, first : first + len(text)] @ table(part).T
                for part in ids.split(1 << 14)
            ]
        whole: FloatArray = torch.cat(gains, 1).float().cpu().numpy()
        return whole

    @torch.inference_mode()
    def _score(self, state: AskedImage, text: Tokens) -> float:
        logits = self.logits(state, (*text, *self.scorer.after))
        return float(self.scorer.probabilities(logits[None])[0])

    def logits(self, state: AskedImage, text: Tokens) -> torch.Tensor:
        """Of the token after the text, shape [vocabulary]."""
        inputs = self.scorer.on_device(state.followed_by(text))
        logits: torch.Tensor = self.scorer.model(**inputs, use_cache=False).logits[0, -1]
        length = inputs["input_ids"].shape[1]
        self.work.images += 1
        self.work.sequences += 1
        self.work.tokens += length
        self.work.attended += length * (length + 1) // 2
        return logits
