"""Which words make a caption abstract, and which concrete.

A word's contribution is the drop in ICC without it: ICC(caption) - ICC(caption without the word).
If it is negative, the caption would be more concrete without the word. Exact for any model, because
it only queries the model; displayed ICC values are clipped to [0, 1], the differences are not.
"""

from dataclasses import dataclass

from backend.engine.captions import Caption
from backend.engine.concreteness.scoring import score_captions

#: Only the beginning of a very long caption is explained.
MOST_WORDS = 40


@dataclass(frozen=True)
class Contribution:
    """Characters [start, end) of the caption, and their contribution to its ICC."""

    start: int
    end: int
    gain: float


def contributions(
    caption: str, model: str | None = None, device: str | None = None
) -> tuple[float, tuple[Contribution, ...]]:
    """The caption's ICC and the contribution of each of its first MOST_WORDS words, in order.

    `model` as for `score_captions`, whose errors it raises.
    """
    parsed = Caption.parse(caption)
    spans = parsed.spans[:MOST_WORDS]
    without = [parsed.without([index]) for index in range(len(spans))]
    whole, *others = score_captions([caption, *without], model, device, clipped=False)
    return min(1.0, max(0.0, whole)), tuple(
        Contribution(start, end, whole - other)
        for (start, end), other in zip(spans, others, strict=True)
    )
