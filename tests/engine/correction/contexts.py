"""Trajectories and correction contexts as the engine makes them, without a model."""

from collections.abc import Sequence

import numpy as np
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.types import SuspectWord
from backend.engine.trajectories.trajectory import Trajectory


def walked(
    text: str, scores: Sequence[float], removed: Sequence[int], captions: tuple[str, ...] = ()
) -> Trajectory:
    """A trajectory with these scores, of which nothing else matters."""
    caption = Caption.parse(text)
    single, gains = np.ones(len(scores), np.float32), np.zeros(len(caption), np.float32)
    return Trajectory(
        caption, np.array(scores, np.float32), single, tuple(removed), gains,
        captions=captions or None,
    )  # fmt: skip


def context(text: str = "A red dog on the sand", wrong: int = 1) -> CorrectionContext:
    caption = Caption.parse(text)
    others = [index for index in range(len(caption)) if index != wrong]
    scores = [0.5, *np.linspace(0.9, 0.2, len(caption) + 1)[1:]]
    suspects = tuple(
        SuspectWord(start, end, 0.9 if index == wrong else 0.2)
        for index, (start, end) in enumerate(caption.spans)
    )
    picture = Image.new("RGB", (1400, 700), "red")
    return CorrectionContext(picture, None, walked(text, scores, (wrong, *others)), suspects, 0.8)
