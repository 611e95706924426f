"""A correction context as the engine makes it, without a model."""

import numpy as np
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.types import SuspectWord
from backend.engine.trajectories.trajectory import Trajectory


def context(text: str = "A red dog on the sand", wrong: int = 1) -> CorrectionContext:
    caption = Caption.parse(text)
    count = len(caption)
    others = [index for index in range(count) if index != wrong]
    scores = np.linspace(0.9, 0.2, count + 1)
    scores[0] = 0.5
    trajectory = Trajectory(
        caption,
        scores.astype(np.float32),
        np.ones(count + 1, np.float32),
        (wrong, *others),
        np.zeros(count, np.float32),
    )
    suspects = tuple(
        SuspectWord(start, end, 0.9 if index == wrong else 0.2)
        for index, (start, end) in enumerate(caption.spans)
    )
    return CorrectionContext(Image.new("RGB", (1400, 700), "red"), None, trajectory, suspects, 0.8)
