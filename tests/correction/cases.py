"""A case as the engine makes one, without a model."""

import numpy as np
from PIL import Image

from backend.captions import Caption
from backend.correction.suggestion import Case
from backend.detection.types import SuspectWord
from backend.trajectories.trajectory import Trajectory


def case(text: str = "A red dog on the sand", wrong: int = 1) -> Case:
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
    return Case(Image.new("RGB", (1400, 700), "red"), None, trajectory, suspects, 0.8)
