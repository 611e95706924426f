"""What scoring costs, measured on a few pairs of the dataset itself; nothing is stored."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from backend.engine.correction import judge
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import ImageError
from backend.jobs.classifiers import suspects_by
from backend.jobs.image_batches import encode_opened, open_pictures
from backend.jobs.stored_trajectories import to_row
from backend.loaded_models import Engine
from db.queries.pairs import PairRow

#: Number of pairs to measure.
PAIRS = 20
#: Overhead of a database row in bytes, beyond its values: keys, headers, index entries.
_ROW = 200


@dataclass(frozen=True)
class Measured:
    """Trajectories of the sample's pairs, and the seconds that one of them took."""

    trajectories: Sequence[Trajectory]
    seconds: float


class Sample:
    """Pairs whose pictures can be read; each measurement is made once, and gives seconds a pair."""

    def __init__(self, engine: Engine, root: Path, pairs: Sequence[PairRow]) -> None:
        """Raises ImageError if no picture is readable."""
        self._engine = engine
        began = time.monotonic()
        opened = open_pictures(root, [pair.image_path for pair in pairs])
        states, problems = encode_opened(engine, opened)
        self.pairs = [pair for pair in pairs if pair.image_path in states]
        if not self.pairs:
            name, why = next(iter(problems.items()))
            raise ImageError(f"{name}: {why}")
        images = {name: image for name, image in opened.items() if isinstance(image, Image.Image)}
        self.images = [images[pair.image_path] for pair in self.pairs]
        self.states = [states[pair.image_path] for pair in self.pairs]
        self.captions = [pair.caption for pair in self.pairs]
        self.vectors = engine.image_embeddings(self.states)
        self._opening = (time.monotonic() - began) / len(self.pairs)
        self._measured: dict[bool, Measured] = {}

    def seconds(self, work: Callable[[], Any]) -> float:
        """What `work` on all pairs takes for each."""
        began = time.monotonic()
        work()
        return (time.monotonic() - began) / len(self.pairs)

    def trajectories(self, whole: bool) -> Measured:
        """Opening and encoding the pictures included; `whole`: or first steps."""
        if whole not in self._measured:
            trajectories: list[Trajectory] = []
            pairs = list(zip(self.states, self.captions, strict=True))
            keys = [pair.id for pair in self.pairs]
            exploring = replace(self._engine.exploring, whole=whole)
            seconds = self.seconds(
                lambda: trajectories.extend(self._engine.trajectories(pairs, keys, exploring))
            )
            self._measured[whole] = Measured(trajectories, self._opening + seconds)
        return self._measured[whole]

    @cached_property
    def captioner_seconds(self) -> float:
        if self._engine.captioner is None:
            return 0.0
        pairs = list(zip(self.images, self.captions, strict=True))
        return self.seconds(lambda: self._engine.expectations(pairs))

    @property
    def stored_bytes(self) -> float:
        """What a pair's first trajectory takes in the database."""
        measured = next(iter(self._measured.values()))
        rows = [
            to_row(pair.id, t) for pair, t in zip(self.pairs, measured.trajectories, strict=True)
        ]
        return sum(_ROW + bytes_in(row) for row in rows) / len(rows)

    def correction_seconds(self, together: int, judged_ahead: int) -> float:
        """Of the `together` pairs that gain most by a deletion. The probabilities that are computed
        ahead cost a trajectory each."""
        engine, measured = self._engine, self.trajectories(True)
        gains = [
            max(trajectory.deletion_gains, default=0.0) for trajectory in measured.trajectories
        ]
        positions = sorted(range(len(gains)), key=lambda at: -gains[at])[:together]
        seconds = 0.0
        for part in (positions[:1], positions):  # the first run warms the model up
            began = time.monotonic()
            with engine.lock:
                states = engine.encode([self.images[at] for at in part])
                contexts = [
                    CorrectionContext(
                        self.images[at],
                        engine.scorer.of_pair(state, self.pairs[at].id),
                        measured.trajectories[at],
                        suspects_by(None, measured.trajectories[at], None),
                        None,
                    )
                    for at, state in zip(part, states, strict=True)
                ]
                judge.suggest_all(engine.scorer, contexts, engine.captioner)
            seconds = (time.monotonic() - began) / len(part)
        return seconds + judged_ahead * measured.seconds


def bytes_in(value: Any) -> int:
    """Size in bytes of the arrays, numbers and texts in a record.

    >>> bytes_in(("dog", 1, np.zeros(3, np.float32), None))
    23
    """
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, int | float):
        return 8
    if isinstance(value, Sequence):
        return sum(bytes_in(item) for item in value)
    return sum(bytes_in(item) for item in vars(value).values()) if hasattr(value, "__dict__") else 0
