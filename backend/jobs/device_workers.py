"""Compute trajectories on several devices of this machine: `score --devices all`.

One process per device, each with its own copy of the models (`jobs/ray_worker.py`, without Ray).
The database is written by the calling process alone, and a run that is interrupted goes on like any
other.
"""

import multiprocessing
import signal
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from backend.engine.trajectories.exploring import Exploring
from backend.errors import OutOfMemory
from backend.jobs.ray_worker import QUESTIONS, ScoringWorker
from backend.loaded_models import Engine
from backend.settings import Settings

#: Batches that wait per device, the one in work included: the next is never waited for.
_AHEAD = 2

#: (id, image's name, caption)
Question = tuple[int, str, str]


@dataclass(frozen=True)
class Devices:
    """Where to compute, one worker each, such as ("cuda:0", "cuda:1")."""

    names: tuple[str, ...]


def trajectories_by_devices(
    engine: Engine,
    devices: Devices,
    root: Path,
    exploring: Exploring,
    batches: Iterable[Sequence[Question]],
    recognises: bool = False,
) -> Iterator[list[dict[str, Any]]]:
    """Rows of `RESULTS`, batch by batch, in the order in which they are finished. `recognises`:
    whether pictures that the model does not know are left out.

    Raises OutOfMemory if the system ended a worker, and whatever a worker raises.
    """
    # Not a fork: CUDA cannot be used in one, and threads of this process hold locks.
    context = multiprocessing.get_context("spawn")
    free = context.Queue()
    for name in devices.names:
        free.put(name)
    given = (free, engine.settings, root, exploring, engine.scorer.prepared, recognises)
    pool = ProcessPoolExecutor(len(devices.names), context, _begin, given)
    waiting: set[Future[pa.Table]] = set()
    try:
        for batch in batches:
            waiting.add(pool.submit(_work, list(batch)))
            if len(waiting) == _AHEAD * len(devices.names):
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (part.result().to_pylist() for part in done)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            yield from (part.result().to_pylist() for part in done)
    except BrokenProcessPool as problem:
        raise OutOfMemory(
            f"A worker on one of {', '.join(devices.names)} was ended by the system, probably for "
            "lack of memory. What is scored is kept; run again with fewer devices."
        ) from problem
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


#: The worker of this process, once it has begun.
_worker: list[ScoringWorker] = []


def _begin(
    free: "multiprocessing.Queue[str]",
    settings: Settings,
    root: Path,
    exploring: Exploring,
    prepared: Any,
    recognises: bool,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the calling process, which ends this
    settings = replace(settings, device=free.get())
    _worker.append(ScoringWorker(settings, str(root), exploring, prepared, recognises))


def _work(batch: list[Question]) -> pa.Table:
    ids, images, captions = zip(*batch, strict=True)
    return _worker[0](pa.table([list(ids), list(images), list(captions)], schema=QUESTIONS))
