"""Trajectories of one run on several devices: one process each, as in TRACED, section 3.5."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import ImageState, Scorer
from backend.engine.trajectories.driver import run_trajectories
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation.labelled import LabelledPairs

_BATCH = 16
#: Makes the scorer and the labelled pairs of a run in another process; has to be picklable.
Load = Callable[[str], tuple[Scorer, LabelledPairs]]


def trajectories_on(devices: tuple[str, ...], load: Load, exploring: Exploring) -> list[Trajectory]:
    """The trajectories of the pairs that `load(device)` returns, in order."""
    count = len(devices)
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        parts = pool.map(_share, devices, [load] * count, [exploring] * count, range(count),
                         [count] * count)  # fmt: skip
        by_row = {row: trajectory for part in parts for row, trajectory in part}
    return [by_row[row] for row in sorted(by_row)]


def _share(
    device: str, load: Load, exploring: Exploring, first: int, step: int
) -> list[tuple[int, Trajectory]]:
    """Every `step`-th pair from `first` on."""
    scorer, pairs = load(device)
    rows = range(first, len(pairs), step)

    def states() -> Iterator[tuple[ImageState, Caption]]:
        for at in range(0, len(rows), _BATCH):
            batch = rows[at : at + _BATCH]
            encoded = scorer.encode_images([pairs.picture(row) for row in batch])
            for row, state in zip(batch, encoded, strict=True):
                yield scorer.of_pair(state, row), Caption.parse(pairs.captions[row])

    return [(rows[place], made) for place, made in run_trajectories(scorer, states(), exploring)]
