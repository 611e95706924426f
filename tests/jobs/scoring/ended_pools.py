"""A program that ends processes in the middle of large batches and results, and then ends itself as
a command does: `python -m tests.jobs.scoring.ended_pools SEED`.

A separate module, because the process that runs a task has to import whatever its module imports.
"""

import itertools
import multiprocessing
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from backend.cli.ending import exit_with_timeout
from backend.jobs.scoring import workers
from backend.jobs.scoring.workers import Devices, Opened, Workers
from backend.settings import MODELS, load_settings

#: Bytes: far more than fits into a pipe.
LARGE = 20_000_000


def return_much(engine: Any, batch: Sequence[bytes], opened: Opened) -> tuple[int, bytes]:
    if multiprocessing.parent_process() is None:
        time.sleep(0.05)
    return os.getpid(), bytes(LARGE)


def die_while_sending(engine: Any, batch: Sequence[str], opened: Opened) -> bytes | None:
    """Ends a worker in the middle of its result, as the system does when memory runs out."""
    if multiprocessing.parent_process() is None:
        time.sleep(0.05)
        return None

    def end(before: int) -> None:
        while _written() < before + 1_000_000:
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=end, args=(_written(),), daemon=True).start()
    return bytes(20 * LARGE)


def _written() -> int:
    """Bytes that this process has written so far."""
    return int(Path("/proc/self/io").read_text().split("wchar:")[1].split()[0])


class DeadlyToRead:
    """Ends the process that reads it, as the system does when memory runs out."""

    def __reduce__(self) -> Any:
        return _end_this_process, ()


def _end_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class WithoutModel:
    """The process that reads it answers without a model, which takes seconds to load."""

    def __reduce__(self) -> Any:
        return _load_no_model, ()


def _load_no_model() -> None:
    nothing: Any = SimpleNamespace(scorer=SimpleNamespace(take_over=lambda preparation: None))
    vars(workers).update(Engine=lambda settings: nothing)


def main(seed: int) -> None:
    settings = load_settings({"model": str(MODELS / "scenes-clip")}, {})
    engine: Any = SimpleNamespace(
        settings=settings, scorer=SimpleNamespace(prepared=WithoutModel())
    )
    large = os.urandom(LARGE)
    numbers = random.Random(seed)
    devices = Devices(("cpu", "cpu"), automatic=seed % 2 == 0)
    with Workers(engine, None, devices) as several:
        results = several.map(return_much, ([large] for _ in itertools.count()))
        while next(results)[1][0] == os.getpid():
            pass
        for _ in range(numbers.randint(0, 3)):
            next(results)
        time.sleep(numbers.random() / 10)
    print("ended")


if __name__ == "__main__":
    with exit_with_timeout():
        main(int(sys.argv[1]))
