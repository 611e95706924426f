"""The plain way: one pair at a time through the processor, padded, nothing shared.

Slow on purpose and easy to check by eye; tests hold the scorers to it within 1e-4 in float32.
"""

from collections.abc import Sequence

import numpy as np
import torch
from PIL import Image

from backend.scoring.blip import BlipScorer
from backend.scoring.clip import ClipScorer
from backend.scoring.protocol import FloatArray


@torch.inference_mode()
def reference_scores(
    scorer: ClipScorer | BlipScorer, image: Image.Image, captions: Sequence[str]
) -> FloatArray:
    """s of each caption for one image, shape [len(captions)]."""
    return np.array([_one(scorer, image, caption) for caption in captions], np.float32)


def _one(scorer: ClipScorer | BlipScorer, image: Image.Image, caption: str) -> float:
    inputs = scorer.processor(
        images=image,
        text=[caption],
        return_tensors="pt",
        padding="max_length",
        truncation=True,
        max_length=scorer.context,
    ).to(scorer.info.device)
    if isinstance(scorer, ClipScorer):
        output = scorer.model(**inputs)
        return float(torch.cosine_similarity(output.image_embeds, output.text_embeds)[0])
    if not scorer.matching:
        return float(scorer.model(**inputs, use_itm_head=False)[0][0, 0])
    inputs["input_ids"][:, 0] = scorer.encoder_token
    return float(scorer.model(**inputs, use_itm_head=True)[0].softmax(-1)[0, 1])
