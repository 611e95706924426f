"""Accuracy of the estimate: `python app.py bench --estimate 200`

Drawn scenes are estimated as `score --estimate` does and then scored by default, suggestions
included, by the embedded models. Both measure wall time: on a busy machine neither is reliable.
"""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from backend.engine import threads
from backend.jobs.estimate import Estimate
from backend.progress import Progress, no_progress
from backend.settings import load_settings
from backend.workspace import Workspace
from research.scenes import demo

#: Seed of the scenes, which were not used in training.
_SEED = 41


@dataclass(frozen=True)
class EstimateCheck:
    """`estimating_seconds`: cost of the estimate itself; `suggested`: corrections that were made;
    `load_before`: of other programs."""

    pairs: int
    load_before: float
    estimated: Estimate
    estimated_seconds: float
    estimating_seconds: float
    wall_seconds: float
    processor_seconds: float
    suggested: int

    @property
    def ratio(self) -> float:
        """Estimated over true wall time."""
        return self.estimated_seconds / self.wall_seconds

    def table(self) -> str:
        return (
            f"{self.pairs} drawn pairs, embedded models, {self.estimated.device}, load before: "
            f"{self.load_before:.1f}\n"
            f"estimated            {self.estimated_seconds:8.1f} s, measured in "
            f"{self.estimating_seconds:.1f} s from {self.estimated.measured} pairs\n"
            f"true, wall           {self.wall_seconds:8.1f} s\n"
            f"true, processor      {self.processor_seconds:8.1f} s\n"
            f"estimated over true  {self.ratio:8.2f}"
        )


def bench_estimate(pairs: int, progress: Progress = no_progress) -> EstimateCheck:
    """Draw `pairs` scenes, estimate, score."""
    load = threads.others_load(0)
    with tempfile.TemporaryDirectory() as folder:
        demo.write(Path(folder) / "scenes", pairs, pairs // 10, 96, seed=_SEED)
        workspace = Workspace(load_settings({"data_directory": f"{folder}/state"}, {}))
        try:
            dataset = workspace.find_or_import(f"{folder}/scenes")
            began = time.monotonic()
            planned = workspace.jobs.estimate(dataset, progress)
            estimating = time.monotonic() - began
            before, began = time.process_time(), time.monotonic()
            report = workspace.jobs.score(dataset, progress)
            wall, processor = time.monotonic() - began, time.process_time() - before
        finally:
            workspace.store.close()
    return EstimateCheck(
        pairs, load, planned, planned.seconds, estimating, wall, processor, report.suggestions
    )
