"""Processor time of a verdict on the review page: `python app.py bench --acts 60 --against FOLDER`

The answer to a verdict: it is saved, the pairs that follow and the queue are drawn. In a generated
dataset, one thread, each checkout in turn so that other programs slow down both alike.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from backend.errors import SettingsError
from backend.progress import Progress, no_progress
from research.bench.checkouts import HERE, checkouts

_PAIRS, _TURNS = 400, 3
#: Of this checkout, run in each; it draws pages, which research does not import.
_DRIVER = HERE / "tests" / "traced_ui" / "act_driver.py"


@dataclass(frozen=True)
class ActCost:
    """Median seconds of the processor a verdict, here and in the other checkout."""

    verdicts: int
    seconds: float
    against: str | None = None
    seconds_there: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.seconds / self.seconds_there if self.seconds_there else None

    def table(self) -> str:
        text = f"{self.verdicts} verdicts: {self.seconds * 1e3:.1f} ms of the processor each"
        if self.seconds_there is None:
            return text
        comparison = f"{self.seconds_there * 1e3:.1f} ms in {self.against}"
        return f"{text}; {comparison}, ratio {self.ratio:.2f}"


def bench_acts(
    verdicts: int, against: Path | None = None, progress: Progress = no_progress
) -> ActCost:
    """`against`: another checkout of the program. Raises SettingsError if it is none."""
    homes = checkouts(against)
    times: dict[Path, list[float]] = {home: [] for home in homes}
    for turn in range(_TURNS):
        for number, home in enumerate(homes):
            progress(turn * len(homes) + number, _TURNS * len(homes), "")
            times[home].append(_median_time(home, verdicts))
    seconds, *seconds_there = (median(times[home]) for home in homes)
    return ActCost(verdicts, seconds, None if against is None else str(against), *seconds_there)


def _median_time(checkout: Path, verdicts: int) -> float:
    one_thread = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(checkout)}
    run = subprocess.run(
        [sys.executable, "-P", str(_DRIVER), str(_PAIRS), str(verdicts)],
        cwd=checkout, env=os.environ | one_thread, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode:
        raise SettingsError(f"The verdicts failed in {checkout}:\n{run.stderr[-2000:]}")
    return float(median(json.loads(run.stdout.splitlines()[-1])))
