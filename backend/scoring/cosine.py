"""s as the cosine of an image's and a caption's embedding: what CLIP and BLIP-ITC share."""

from collections.abc import Callable, Sequence

import numpy as np

from backend.scoring.protocol import FloatArray, ImageState


def cosine_scores(
    requests: Sequence[tuple[ImageState, Sequence[str]]],
    text_embeddings: Callable[[Sequence[str]], FloatArray],
) -> list[FloatArray]:
    """Scores of each request, whose states are unit vectors [d]. Each text is embedded once."""
    distinct = list(dict.fromkeys(text for _, captions in requests for text in captions))
    place = {text: row for row, text in enumerate(distinct)}
    vectors = text_embeddings(distinct)
    # A sum a row, not a matrix product: that one rounds equal rows differently.
    return [
        (vectors[[place[text] for text in captions]] * state.numpy()).sum(1, dtype=np.float32)
        if captions
        else np.zeros(0, np.float32)
        for state, captions in requests
    ]
