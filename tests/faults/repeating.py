"""Run a kind of work in a separate process, and kill -9 it at random moments, many times."""

import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.faults.scenarios import Scenario, copied

Work = Callable[[], None]


def finished(work: Work) -> float:
    """Run the work to its end in a separate process; return the seconds. Raises if it failed."""
    started = time.monotonic()
    _, status = os.waitpid(_forked(work), 0)
    if status != 0:
        raise AssertionError(f"the work ended with status {status}")
    return time.monotonic() - started


def killed(work: Work, after: float) -> bool:
    """Kill the work `after` seconds after its start; False if it had ended by then."""
    process = _forked(work)
    time.sleep(after)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return True
    if status != 0:
        raise AssertionError(f"the work ended with status {status}")
    return False


def _forked(work: Work) -> int:  # pyrefly: ignore[bad-return]
    """The child shares the imported modules but nothing that is open: it starts at once."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return process
    status = 1
    try:
        Path("/dev/null").open("w")  # noqa: SIM115  (a child that ends by _exit closes nothing)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


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
