"""Reference scores: one pair at a time through the model's own forward, padded, nothing shared.

Deliberately slow and simple; tests require the scorers to match it within 1e-4 in float32, and
`bench` uses it as the baseline.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from PIL import Image

from backend.engine.scoring.blip import BlipScorer
from backend.engine.scoring.clip import ClipScorer
from backend.engine.scoring.protocol import FloatArray, ImageState, Tokens, Work

Plain = ClipScorer | BlipScorer


@torch.inference_mode()
def reference_scores(scorer: Plain, image: Image.Image, captions: Sequence[str]) -> FloatArray:
    """s of each caption for one image, computed end to end, shape [len(captions)]."""
    return np.array([_score(scorer, image, caption) for caption in captions], np.float32)


def _score(scorer: Plain, image: Image.Image, caption: str) -> float:
    inputs = scorer.reader.tokenizer(  # pyrefly: ignore[missing-attribute]
        [scorer.reader.clean(caption)],  # pyrefly: ignore[missing-attribute]
        return_tensors="pt",
        padding="max_length",
        truncation=True,
        max_length=scorer.reader.context,  # pyrefly: ignore[missing-attribute]
    )
    inputs["pixel_values"] = scorer.pixels([image])
    inputs = inputs.to(scorer.info.device)
    if isinstance(scorer, ClipScorer):
        output = scorer.model(**inputs)
        return float(torch.cosine_similarity(output.image_embeds, output.text_embeds)[0])
    if not scorer.matching:
        return float(scorer.model(**inputs, use_itm_head=False)[0][0, 0])
    inputs["input_ids"][:, 0] = scorer.encoder_token
    return float(scorer.model(**inputs, use_itm_head=True)[0].softmax(-1)[0, 1])


@dataclass
class ReferenceSession:
    """A session that scores each pair's texts in one padded batch of the model's own forward.

    The image is encoded once, as in the papers' own code; nothing else is shared. Texts are padded
    to the longest of the pair, but to at least `padding` tokens.
    """

    scorer: Plain
    padding: int = 0
    live: int = 1
    work: Work = field(default_factory=Work)
    embedding_work: Work = field(default_factory=Work)

    @torch.inference_mode()
    def score(self, requests: Sequence[tuple[ImageState, Sequence[Tokens]]]) -> list[FloatArray]:
        scores = []
        for state, texts in requests:
            with self.scorer.precision():
                scores.append(
                    _array(self._scores(state, texts)) if texts else np.zeros(0, np.float32)
                )
            patches = len(state) if state.ndim == 2 else 0
            self._count(self.work, [texts] if texts else [], patches)
        return scores

    @torch.inference_mode()
    def embed(self, texts: Sequence[Tokens]) -> FloatArray:
        self._count(self.embedding_work, [[text] for text in texts], 0)
        with self.scorer.precision():
            return np.stack([_array(self._vectors([text])[0]) for text in texts])

    def replacement_gains(self, requests: Sequence[tuple[ImageState, Tokens]]) -> list[FloatArray]:
        return [self._gains(state.clone(), text) for state, text in requests]

    def _scores(self, state: torch.Tensor, texts: Sequence[Tokens]) -> torch.Tensor:
        scorer = self.scorer
        if isinstance(scorer, BlipScorer) and scorer.matching:
            ids, mask = self._pad(_wrap(texts, scorer.around(matching=True)))
            patches = state.expand(len(texts), -1, -1)
            states = scorer.model.text_encoder(
                input_ids=ids,
                attention_mask=mask,
                encoder_hidden_states=patches,
                encoder_attention_mask=mask.new_ones(patches.shape[:2]),
            ).last_hidden_state
            probabilities: torch.Tensor = scorer.model.itm_head(states[:, 0]).softmax(-1)[:, 1]
            return probabilities
        return (self._vectors(texts).to(state.device) * state).sum(-1)

    def _vectors(self, texts: Sequence[Tokens]) -> torch.Tensor:
        scorer = self.scorer
        model = scorer.model
        if isinstance(scorer, BlipScorer):
            ids, mask = self._pad(_wrap(texts, scorer.around(matching=False)))
            states = model.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            vectors = model.text_proj(states[:, 0])
        else:
            ids, mask = self._pad([scorer.tower.whole(text) for text in texts])
            read = model.text_model(input_ids=ids, attention_mask=mask).pooler_output
            vectors = model.text_projection(read)
        return torch.nn.functional.normalize(vectors, dim=-1)

    def _gains(self, state: torch.Tensor, text: Tokens) -> FloatArray:
        """Gradient at the output of the model's embedding table, captured by a hook, times the
        table."""
        model: Any = self.scorer.model
        table = (
            model.text_encoder.embeddings.word_embeddings
            if isinstance(self.scorer, BlipScorer)
            else model.text_model.embeddings.token_embedding
        )
        caught: list[torch.Tensor] = []

        def catch(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            leaf = output.detach().requires_grad_()
            caught.append(leaf)
            return leaf.clone()

        handle = table.register_forward_hook(catch)
        try:
            with torch.enable_grad():
                score = self._scores(state, [text])[0]
                (gradient,) = torch.autograd.grad(score, caught)
        finally:
            handle.remove()
        text_gradient = gradient[0, 1 : 1 + len(text)]
        return _array(text_gradient @ table.weight.detach().T)

    def _count(self, work: Work, batches: Sequence[Sequence[Tokens]], patches: int) -> None:
        """Counts as in `Work`, padding included; an image's keys and values once per text."""
        for texts in batches:
            tokens = len(texts) * max(self.padding, 2 + max(map(len, texts)))
            work.sequences += len(texts)
            work.images += len(texts) if patches else 0
            work.tokens += tokens
            work.attended += tokens * tokens // len(texts)
            work.seen += tokens * patches

    def _pad(self, sequences: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(self.padding, *map(len, sequences)) if sequences else 0
        filler = int(self.scorer.reader.tokenizer.pad_token_id or 0)  # pyrefly: ignore[missing-attribute]
        ids = torch.full((len(sequences), longest), filler, dtype=torch.long)
        mask = torch.zeros(len(sequences), longest, dtype=torch.long)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence)
            mask[row, : len(sequence)] = 1
        return ids.to(self.scorer.info.device), mask.to(self.scorer.info.device)


def _wrap(texts: Sequence[Tokens], around: tuple[int, int]) -> list[Tokens]:
    begin, end = around
    return [(begin, *text, end) for text in texts]


def _array(values: torch.Tensor) -> FloatArray:
    array: FloatArray = values.float().cpu().numpy()
    return array
