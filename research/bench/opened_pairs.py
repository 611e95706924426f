"""Cost of opening a pair whose later steps are not known: `python app.py bench --open 100`

Drawn scenes are scored by the embedded models with `--trajectories first-step`. Then each pair is
opened as the review page does: read from the store, its later steps computed and stored, read
again. Like a server's requests, openings come from several threads in turn. The first opening loads
the models and is reported on its own.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from backend.engine import threads
from backend.engine.trajectories.depth import FIRST_STEP
from backend.progress import Progress, no_progress
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import pairs as pair_queries
from research.scenes import demo

#: Seed of the scenes, which were not used in training.
_SEED = 43
_PIXELS = 96
#: Threads that open pairs in turn.
_THREADS = 4


@dataclass(frozen=True)
class Opening:
    """Seconds of one opening: wall time, and processor time of the whole process."""

    wall: float
    processor: float


@dataclass(frozen=True)
class OpenedPairs:
    """`first`: the opening that loads the models; `openings`: all others; `completed`: pairs whose
    later steps were computed."""

    load_before: float
    first: Opening
    openings: tuple[Opening, ...]
    completed: int

    def table(self) -> str:
        lines = [
            f"{len(self.openings)} pairs with first steps only, embedded models, load before: "
            f"{self.load_before:.1f}",
            f"{'milliseconds':24} {'median':>8} {'95 %':>8} {'longest':>8}",
        ]
        for name, values in (
            ("wall", [opening.wall for opening in self.openings]),
            ("processor", [opening.processor for opening in self.openings]),
        ):
            cells = (f"{1000 * value:8.0f}" for value in summary(values))
            lines.append(f"{name:24} {' '.join(cells)}")
        lines.append(
            f"The first opening, which loads the models: {1000 * self.first.wall:.0f} wall, "
            f"{1000 * self.first.processor:.0f} processor"
        )
        return "\n".join(lines)


def summary(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, 95th percentile (an observed value) and maximum.

    >>> summary([0.3, 0.1, 0.2])
    (0.2, 0.3, 0.3)
    """
    median, most = np.quantile(values, (0.5, 0.95), method="inverted_cdf")
    return float(median), float(most), float(max(values))


def bench_open(pairs: int, progress: Progress = no_progress) -> OpenedPairs:
    """Draw and score `pairs` + 1 scenes in a temporary folder and open each of them."""
    with tempfile.TemporaryDirectory() as folder:
        scenes, count = Path(folder) / "scenes", pairs + 1
        demo.write(scenes, count, count // 10, _PIXELS, seed=_SEED)
        settings = load_settings({"data_directory": f"{folder}/state"}, {})
        scored = Workspace(settings)
        try:
            dataset = scored.find_or_import(str(scenes))
            scored.jobs.score(dataset, progress, suggestions=False, trajectories=FIRST_STEP)
        finally:
            scored.store.close()
        workspace = Workspace(settings)  # without the models that scoring has loaded
        try:
            load = threads.others_load(0)
            with workspace.store.reading() as session:
                ids = [pair.id for pair in pair_queries.pairs_after(session, dataset, 0, count)]
            first, *others = _opened(workspace, ids, progress)
            views = [workspace.review.open_pair(pair_id) for pair_id in ids]
        finally:
            workspace.store.close()
    completed = sum(view.trajectory is not None and view.trajectory.whole for view in views)
    return OpenedPairs(load, first, tuple(others), completed)


def _opened(workspace: Workspace, ids: Sequence[int], progress: Progress) -> list[Opening]:
    openings = []
    pools = [ThreadPoolExecutor(1) for _ in range(_THREADS)]
    try:
        for number, pair_id in enumerate(ids):
            progress(number, len(ids), "Opening pairs")
            opening = pools[number % _THREADS].submit(_timed, partial(_open, workspace, pair_id))
            openings.append(opening.result())
    finally:
        for pool in pools:
            pool.shutdown()
    return openings


def _open(workspace: Workspace, pair_id: int) -> None:
    """The review page's work for a displayed pair, without drawing it."""
    workspace.review.open_pair(pair_id)
    if workspace.review.complete(pair_id):
        workspace.review.open_pair(pair_id)


def _timed(work: Callable[[], None]) -> Opening:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Opening(time.perf_counter() - wall, time.process_time() - processor)
