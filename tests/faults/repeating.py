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
    """`killed`: how many of `times` were killed before they were done; all were checked."""

    name: str
    times: int
    killed: int
    seconds: float


#: Called after each checked kill with (times so far, of how many, killed before the end).
Report = Callable[[int, int, int], None]


def repeat(
    scenario: Scenario, times: int, folder: Path, seed: int = 0, report: Report | None = None
) -> Outcome:
    """Kill at moments drawn evenly over the time that the work takes; check; do it again to its
    end; check. Raises AssertionError, with the folder left as it was, at the first that fails."""
    rng = random.Random(seed)
    working = folder / "work"
    working.mkdir(parents=True)
    # Prepared where it will be worked on, in a process of its own: this one stays fit to fork.
    finished(lambda: scenario.prepare(working))
    prepared = folder / "prepared"
    shutil.copytree(working, prepared)
    seconds = float("inf")
    # Of many times, the first also warms what the system caches.
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
