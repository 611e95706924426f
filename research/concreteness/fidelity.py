"""Similarity of a caption and its reconstruction from a bottleneck, in [0, 1]; 1 is identical."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from backend.engine import hub
from backend.engine.embeddings import embedded_model

_BATCH = 64


def edit_similarity(captions: Sequence[str], reconstructions: Sequence[str]) -> list[float]:
    """1 - character-level Levenshtein distance / length of the longer text (ICC §2, SBA)."""
    from rapidfuzz.distance import Levenshtein

    return [
        Levenshtein.normalized_similarity(caption.lower(), other.lower())
        for caption, other in zip(captions, reconstructions, strict=True)
    ]


def meaning_similarity(
    captions: Sequence[str], reconstructions: Sequence[str], encoder: str | None = None
) -> list[float]:
    """BERTScore F1 (ICC §2, VBA) with any Hugging Face encoder; None: the embedded MiniLM.

    Uses the layer that BERTScore recommends for the encoder, or the last one if it recommends none.
    Raises ModelUnavailable.
    """
    if not captions:
        return []
    scorer = _scorer(encoder or embedded_model())
    # An empty text has no tokens to compare: the score is 0.
    pairs = list(zip(reconstructions, captions, strict=True))
    non_empty = [(first, other) for first, other in pairs if first.strip() and other.strip()]
    if not non_empty:
        return [0.0] * len(captions)
    _, _, f1 = scorer.score([a for a, _ in non_empty], [b for _, b in non_empty], batch_size=_BATCH)
    scores = iter(f1.clamp(0, 1).tolist())
    return [next(scores) if first.strip() and other.strip() else 0.0 for first, other in pairs]


@cache
def _scorer(encoder: str) -> Any:
    from bert_score import BERTScorer
    from transformers import AutoConfig

    what = "The encoder for BERTScore"
    advice = "Give a text encoder, such as microsoft/deberta-xlarge-mnli."
    configuration = hub.load(AutoConfig, encoder, what, advice)
    with hub.failures_explained(what, encoder, advice):
        layers = layer_of(encoder, int(configuration.num_hidden_layers))
        return BERTScorer(model_type=encoder, num_layers=layers, lang=None)


def layer_of(encoder: str, last: int) -> int:
    """The layer that agrees best with human judgements according to BERTScore's authors, for
    encoders that they compared; `last` for others.

    >>> layer_of("microsoft/deberta-xlarge-mnli", 48), layer_of("a/folder", 6)
    (40, 6)
    """
    from bert_score.utils import model2layers

    return int(model2layers.get(encoder, last))
