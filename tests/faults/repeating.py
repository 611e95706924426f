"""Kill a kind of work many times."""

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.killing import finished, killed
from tests.faults.scenarios import Scenario, copied


@dataclass(frozen=True)
class Outcome:
    """`killed`: how many of `times` were killed before they had finished; all were checked."""

    name: str
    times: int
    killed: int
    seconds: float


#: Called after each checked kill with (times so far, total times, killed before the end).
Report = Callable[[int, int, int], None]


def repeat(
    scenario: Scenario, times: int, folder: Path, seed: int = 0, report: Report | None = None
) -> Outcome:
    """Kill at moments drawn uniformly over the time that the work takes; check; repeat the work to
    its end; check. Raises AssertionError at the first failure, and leaves the folder as it was."""
    rng = random.Random(seed)
    working = folder / "work"
    working.mkdir(parents=True)
    # Prepared in the working folder, in a separate process, so that this one can still fork.
    finished(lambda: scenario.prepare(working))
    prepared = folder / "prepared"
    shutil.copytree(working, prepared)
    seconds = float("inf")
    # If repeated, the first run also warms the system's caches.
    for _ in range(2 if times > 1 else 1):
        copied(prepared, working)
        seconds = min(seconds, finished(lambda: scenario.work(working)))
        scenario.check_end(working)
    caught = 0
    for done in range(1, times + 1):
        copied(prepared, working)
        caught += killed(lambda: scenario.work(working), rng.uniform(0, seconds))
        scenario.check(working)
        finished(lambda: scenario.work(working))
        scenario.check_end(working)
        if report is not None:
            report(done, times, caught)
    return Outcome(scenario.name, times, caught, seconds)
