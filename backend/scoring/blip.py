"""BLIP image-text retrieval: ITC cosine and ITM match probability (TRACED §3.1).

Four things make these numbers equal to the published model's (LAVIS): twelve attention heads, an
epsilon of 1e-6 in the image tower (`loading` checks both for checkpoints of the published size),
[ENC] as the first token of ITM, and the attention mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import normalize

from backend.scoring.batching import IMAGES_A_BATCH, PATCHES_A_BATCH, batches, pad, words_within
from backend.scoring.cosine import cosine_scores
from backend.scoring.protocol import FloatArray, ImageState, ScorerInfo

#: The published models were trained and are evaluated on captions of at most 35 tokens.
CONTEXT = 35


@dataclass
class BlipScorer:
    """A `BlipForImageTextRetrieval`, asked through ITC or ITM as `info.kind` says.

    An image's state is its patch states [patches + 1, width] for ITM, its unit ITC embedding [d]
    for ITC.
    """

    info: ScorerInfo
    model: Any
    processor: Any
    context: int
    encoder_token: int  #: [ENC]

    @property
    def matching(self) -> bool:
        return self.info.kind == "blip-itm"

    @torch.inference_mode()
    def encode_images(self, images: Sequence[Image.Image]) -> list[ImageState]:
        found: list[ImageState] = []
        for first in range(0, len(images), IMAGES_A_BATCH):
            found += self._encode(images[first : first + IMAGES_A_BATCH])
        return found

    def _encode(self, images: Sequence[Image.Image]) -> list[ImageState]:
        pixels = self.processor.image_processor(images=list(images), return_tensors="pt")
        states = self.model.vision_model(
            pixel_values=pixels["pixel_values"].to(self.info.device)
        ).last_hidden_state
        if self.matching:
            return list(states)
        return list(normalize(self.model.vision_proj(states[:, 0]).float(), dim=-1).cpu())

    def score(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        if self.matching:
            return self._match(requests)
        return cosine_scores(requests, self.text_embeddings)

    @torch.inference_mode()
    def _match(self, requests: Sequence[tuple[ImageState, Sequence[str]]]) -> list[FloatArray]:
        """softmax(ITM head)[:, 1]. Equal captions of one image are computed once."""
        asked = list(
            dict.fromkeys(
                (number, text) for number, (_, texts) in enumerate(requests) for text in texts
            )
        )
        sequences = [
            [self.encoder_token, *tokens[1:]] for tokens in self._tokens([t for _, t in asked])
        ]
        found = np.zeros(len(asked), np.float32)
        patches = len(requests[0][0]) if requests else 1
        most = max(1, PATCHES_A_BATCH // patches)
        for batch in batches([len(sequence) for sequence in sequences], most=most):
            ids, mask = pad([sequences[i] for i in batch], 0, self.info.device)
            states = torch.stack([requests[asked[i][0]][0] for i in batch])
            fused = self.model.text_encoder(
                input_ids=ids,
                attention_mask=mask,
                encoder_hidden_states=states,
                encoder_attention_mask=torch.ones(
                    states.shape[:2], dtype=torch.long, device=self.info.device
                ),
            ).last_hidden_state
            logits = self.model.itm_head(fused[:, 0]).float()
            found[batch] = logits.softmax(-1)[:, 1].cpu().numpy()
        place = {question: row for row, question in enumerate(asked)}
        return [
            found[[place[number, text] for text in captions]]
            if captions
            else np.zeros(0, np.float32)
            for number, (_, captions) in enumerate(requests)
        ]

    @torch.inference_mode()
    def text_embeddings(self, captions: Sequence[str]) -> FloatArray:
        """From the ITC text side, also when s comes from ITM (TRACED §3.2)."""
        sequences = self._tokens(captions)
        width = self.model.text_proj.out_features
        found = np.zeros((len(captions), width), np.float32)
        for batch in batches([len(sequence) for sequence in sequences]):
            ids, mask = pad([sequences[i] for i in batch], 0, self.info.device)
            read = self.model.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state
            vectors = self.model.text_proj(read[:, 0])
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
