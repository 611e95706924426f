"""Trajectories by a known rule: wrong captions have words whose deletion raises the score."""

from collections.abc import Sequence

import numpy as np

from backend.engine.captions import Caption
from backend.engine.trajectories.trajectory import Trajectory

COLOURS = ("red", "green", "blue", "white", "black", "brown")
NOUNS = ("dog", "cat", "horse", "bird", "car", "boat", "house", "tree")


def trajectory(text: str, worth: Sequence[float], start: float) -> Trajectory:
    """Word i adds worth[i] to the score; greedy removal takes the lowest worth first."""
    caption = Caption.parse(text)
    order = np.argsort(np.array(worth), kind="stable")
    scores = start - np.r_[0.0, np.cumsum(np.array(worth)[order])]
    return Trajectory(
        caption,
        scores.astype(np.float32),
        np.linspace(1, 0.2, len(scores)).astype(np.float32),
        tuple(int(i) for i in order),
        (start - np.array(worth)).astype(np.float32),
    )


class World:
    """Captions "a COLOUR NOUN near a COLOUR NOUN in the park"; `truth` has the true words."""

    def __init__(self, count: int, wrong_share: float, seed: int = 0, noise: float = 0.15) -> None:
        self.rng = np.random.default_rng(seed)
        self.noise = noise
        self.truth = [self._draw() for _ in range(count)]
        self.wrong = self.rng.random(count) < wrong_share
        self.captions = [
            self._text(self._altered(truth) if wrong else truth)
            for truth, wrong in zip(self.truth, self.wrong, strict=True)
        ]
        self.trajectories = self.score(list(enumerate(self.captions)))

    def score(self, requests: Sequence[tuple[int, str]]) -> list[Trajectory]:
        trajectories = []
        for image, text in requests:
            known = set(self.truth[image])
            worth = [
                0.1 * (1 if word.lower() in known else -1) + self.rng.normal(0, self.noise * 0.1)
                if word.lower() in COLOURS + NOUNS
                else self.rng.normal(0, 0.005)
                for word in Caption.parse(text).words
            ]
            start = 0.5 + sum(worth) + self.rng.normal(0, self.noise)
            trajectories.append(trajectory(text, worth, start))
        return trajectories

    def _draw(self) -> tuple[str, ...]:
        colours = self.rng.choice(COLOURS, 2, replace=False)
        nouns = self.rng.choice(NOUNS, 2, replace=False)
        return (str(colours[0]), str(nouns[0]), str(colours[1]), str(nouns[1]))

    def _altered(self, truth: tuple[str, ...]) -> tuple[str, ...]:
        place = int(self.rng.integers(4))
        words = [w for w in (COLOURS if place % 2 == 0 else NOUNS) if w not in truth]
        return tuple(str(self.rng.choice(words)) if i == place else w for i, w in enumerate(truth))

    @staticmethod
    def _text(words: tuple[str, ...]) -> str:
        return "A {} {} near a {} {} in the park.".format(*words)
