"""Trajectories of captions that are not in the dataset: noisy copies for training.

Copies belong to images of the dataset, so an image is opened and encoded once however many captions
are tried on it, as long as it fits into the cache.
"""

from collections.abc import Sequence
from pathlib import Path

from backend.engine import Engine
from backend.errors import ImageError
from backend.pipeline.pictures import encode_images
from backend.trajectories.exploring import Exploring
from backend.trajectories.trajectory import Trajectory

#: Captions scored in one go.
BATCH = 48


class TrajectoryCache:
    """Scores captions against the images of pairs, given by their position."""

    def __init__(
        self, engine: Engine, root: Path, pairs: Sequence[tuple[int, str]], exploring: Exploring
    ) -> None:
        """`pairs`: id and image path of each."""
        self._exploring = exploring
        self._engine = engine
        self._root = root
        self._keys = [key for key, _ in pairs]
        self._names = [name for _, name in pairs]

    def score(self, requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        """One trajectory per (pair position, caption), in order.

        The images were readable when the pairs were scored; one that has gone since raises
        ImageError with its name.
        """
        trajectories: list[Trajectory] = []
        for first in range(0, len(requests), BATCH):
            batch = requests[first : first + BATCH]
            names = [self._names[position] for position, _ in batch]
            states, problems = encode_images(self._engine, self._root, names)
            if problems:
                name, message = next(iter(problems.items()))
                raise ImageError(f"{name}: {message}")
            trajectories += self._engine.trajectories(
                [(states[name], text) for name, (_, text) in zip(names, batch, strict=True)],
                [self._keys[position] for position, _ in batch],
                self._exploring,
            )
        return trajectories
