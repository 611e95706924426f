"""Out-of-distribution detection: does a model know pictures such as this one?

A model trained on a narrow domain also scores photographs, but those scores are meaningless. Such a
model comes with `familiar.npz`, the feature statistics of its training pictures. The feature is the
mean of a picture's patch states after one of the image tower's layers, compared by its Mahalanobis
distance (Lee et al. 2018, arXiv:1807.03888). The layer is an early one, because later layers map
every picture to concepts from training. Models from the hub, trained on web data, have no such file
and count as familiar with every picture.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.scoring.protocol import Scorer

FILE = "familiar.npz"
Features = NDArray[np.float32]


@dataclass(frozen=True)
class Familiarity:
    """Feature statistics of a model's training pictures at its layer `layer`.

    `whitening` [d, d] maps a difference from `mean` [d] to a vector whose norm is the Mahalanobis
    distance; pictures farther away than `threshold` are unknown.
    """

    layer: int
    mean: Features
    whitening: Features
    threshold: float

    @staticmethod
    def is_of(model: str) -> bool:
        """Whether the model's directory says which pictures it knows."""
        return (Path(model) / FILE).is_file()

    @classmethod
    def of_model(cls, model: str) -> "Familiarity | None":
        """Load from the model's directory; None if the model counts as familiar with everything."""
        path = Path(model) / FILE
        if not cls.is_of(model):
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return cls(
                int(arrays["layer"]), arrays["mean"], arrays["whitening"],
                float(arrays["threshold"]),
            )  # fmt: skip

    def distances(self, features: Features) -> Features:
        """Mahalanobis distance of each picture, shape [n]; higher is less familiar."""
        distances: Features = np.linalg.norm((features - self.mean) @ self.whitening, axis=1)
        return distances

    def unknown(self, scorer: Scorer, images: Sequence[Image.Image]) -> NDArray[np.bool_]:
        """Which of the pictures are unlike the scorer's training data, shape [n]."""
        with self.watching(scorer) as features:
            scorer.encode_images(images)
        return self.unknown_of(features)

    def watching(self, scorer: Scorer) -> AbstractContextManager[list[Features]]:
        """See `watch_features`: what is encoded for another purpose need not be encoded again."""
        return watch_features(scorer, self.layer)

    def unknown_of(self, features: Sequence[Features]) -> NDArray[np.bool_]:
        """Which of the pictures encoded while `watching` are unknown, in order, shape [n]."""
        if not features:
            return np.zeros(0, bool)
        return self.distances(np.concatenate(features)) > self.threshold


@contextmanager
def watch_features(scorer: Any, layer: int) -> Iterator[list[Features]]:
    """The patch means of the pictures that the scorer encodes meanwhile, batch by batch."""
    features: list[Features] = []

    def keep(_: Any, __: Any, output: Any) -> None:
        states = output[0] if isinstance(output, tuple) else output
        features.append(states[:, 1:].float().mean(1).cpu().numpy())  # without the class token

    scorer = getattr(scorer, "base", scorer)  # LEMoN wraps the scorer that encodes images
    hook = scorer.model.vision_model.encoder.layers[layer].register_forward_hook(keep)
    try:
        yield features
    finally:
        hook.remove()
