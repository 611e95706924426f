"""Run work in a separate process, and kill -9 it at some moment."""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

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
