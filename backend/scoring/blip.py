"""BLIP image-text retrieval: ITC cosine and ITM match probability (TRACED §3.1).

Four things make these numbers equal to the published model's (LAVIS): twelve attention heads, an
epsilon of 1e-6 in the image tower (both stand in a checkpoint's config.json), [ENC] as the first
token of ITM, and the attention mask.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import normalize

from backend.scoring.batching import PATCHES_A_BATCH, batches
from backend.scoring.cosine import cosine_scores
from backend.scoring.dual_encoder import DualEncoder
from backend.scoring.protocol import FloatArray, ImageState

#: The published models were trained and are evaluated on captions of at most 35 tokens.
CONTEXT = 35


@dataclass
class BlipScorer(DualEncoder):
    """A `BlipForImageTextRetrieval`, asked through ITC or ITM as `info.kind` says.

    An image's state is its patch states [patches + 1, width] for ITM, its unit ITC embedding [d]
    for ITC.
    """

    encoder_token: int  #: [ENC]

    @property
    def matching(self) -> bool:
        return self.info.kind == "blip-itm"

    def _see(self, pixels: torch.Tensor) -> list[ImageState]:
        states = self.model.vision_model(pixel_values=pixels).last_hidden_state
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
            ids, mask = self._padded([sequences[i] for i in batch])
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

    def _read(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """From the ITC text side, also when s comes from ITM (TRACED §3.2)."""
        read = self.model.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        vectors: torch.Tensor = self.model.text_proj(read[:, 0])
        return vectors

    def _width(self) -> int:
        return int(self.model.text_proj.out_features)
