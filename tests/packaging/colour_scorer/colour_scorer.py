"""Scores a caption by whether the picture has the colours that it names."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from backend.engine.scoring.function_scorer import scorer_family

COLOURS = {
    "black": (20, 20, 20), "blue": (40, 80, 200), "brown": (120, 80, 40), "green": (40, 150, 60),
    "red": (200, 40, 40), "white": (240, 240, 240), "yellow": (240, 210, 50),
}  # fmt: skip


def score(image: Image.Image, captions: Sequence[str]) -> list[float]:
    """The mean, over the colours named, of how near the nearest patch of the picture comes."""
    pixels = np.asarray(image.resize((16, 16)), float).reshape(-1, 3)
    nearest = {name: np.abs(pixels - colour).mean(1).min() for name, colour in COLOURS.items()}
    named = [[nearest[word] for word in caption.lower().split() if word in nearest]
             for caption in captions]  # fmt: skip
    return [float(1 - np.mean(distances) / 255) if distances else 0.5 for distances in named]


FAMILY = scorer_family("colours", score, revision="1.0")
