"""Compute batches in several processes of this machine: one per GPU, or one per idle core.

A small model gains nothing from a second thread (`engine/threads.py`), so several cores are used by
several processes, each with its own copy of the models. A task is the same function wherever it
runs, over the same batches, so that the numbers do not depend on the number of processes. The
database is read and written by the calling process alone, and a job that is interrupted resumes
like any other.
"""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from PIL import Image

from backend.engine import threads
from backend.errors import OutOfMemory
from backend.jobs.image_batches import HasImage, open_ahead, open_pictures
from backend.loaded_models import Engine
from backend.process_exit import leave_at_once
from backend.settings import Settings

log = logging.getLogger(__name__)

#: Batches in flight per process, the current one included, so that none waits for its next batch.
_AHEAD = 2
#: Remaining captions that justify each further process: loading the models takes as long as
#: a few hundred of them.
WORTH_A_PROCESS = 400
#: Free memory that a further process with a small model needs, in bytes.
MEMORY_OF_A_PROCESS = 10**9
#: Priority below that of other programs, and of the server that a job runs in.
_NICENESS = 10


class Question(NamedTuple):
    """A pair as a worker needs it."""

    pair_id: int
    image_path: str
    caption: str


Opened = Mapping[str, Image.Image | str]
Q = TypeVar("Q", bound=HasImage)
R = TypeVar("R")
#: Computes a batch; gets its pictures by name, or why one cannot be read. Tasks, batches and
#: results must be picklable.
Task = Callable[[Engine, Sequence[Q], Opened], R]


@dataclass(frozen=True)
class Devices:
    """Where to compute: in one process for each of these, such as ("cuda:0", "cuda:1"). If all are
    CPUs, the calling process is one of them. `automatic`: determined by the idle cores."""

    names: tuple[str, ...] = ("cpu",)
    automatic: bool = False


#: As many processes as are worthwhile, on idle cores.
AUTOMATIC = Devices(automatic=True)


def decided(devices: Devices | None, engine: Engine, captions: int) -> Devices | None:
    """The processes for a job with this many captions to score: those given, or the idle cores if
    `devices` is automatic."""
    if devices is None or not devices.automatic or not engine.is_small:
        return devices
    import psutil

    further = min(
        threads.idle_cores() - 1,
        captions // WORTH_A_PROCESS,
        psutil.virtual_memory().available // MEMORY_OF_A_PROCESS,
    )
    return replace(AUTOMATIC, names=("cpu",) * (1 + max(0, further)))


class Workers:
    """The processes of one job. They are started on first use, and end with this object's context
    or with the calling process, however that ends."""

    def __init__(self, engine: Engine, root: Path, devices: Devices | None = None) -> None:
        """`root`: the folder of the pictures; `devices`: None for the calling process alone. The
        engine's scorer has to be prepared already (`Scorer.prepare`)."""
        self.engine = engine
        self.root, self._devices = root, devices or Devices()
        names = self._devices.names
        self._takes_part = all(name.startswith("cpu") for name in names)
        self._names = names[1:] if self._takes_part else names
        self._pool: ProcessPoolExecutor | None = None
        self._alive: Connection | None = None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def processes(self) -> int:
        """How many compute."""
        return len(self._names) + self._takes_part

    @property
    def device(self) -> str:
        """The kind of device that batches should be sized for."""
        return self.engine.scorer.info.device if self._takes_part else self._names[0]

    def map(
        self, task: Task[Q, R], batches: Iterable[Sequence[Q]]
    ) -> Iterator[tuple[Sequence[Q], R]]:
        """Each batch with the task's result, in the order in which they are finished.

        Raises whatever the task raises, and OutOfMemory if the system ended an explicitly requested
        process; the work of automatic ones is done by the calling process instead.
        """
        if not self._names:
            yield from self._alone(task, batches)
            return
        waiting: dict[Future[R], Sequence[Q]] = {}
        for batch in batches:
            if len(waiting) >= _AHEAD * len(self._names):
                if self._takes_part:
                    yield batch, self._compute(task, batch)
                    yield from self._finished(task, waiting, block=False)
                    continue
                yield from self._finished(task, waiting)
            waiting[self._submit(task, batch)] = batch
        while waiting:
            yield from self._finished(task, waiting, block=not self._takes_part)
            if waiting and self._takes_part:
                # Nothing is waited for: others may still be loading, or get no processor time.
                last = next(reversed(waiting))
                last.cancel()
                batch = waiting.pop(last)
                yield batch, self._compute(task, batch)

    def _alone(
        self, task: Task[Q, R], batches: Iterable[Sequence[Q]]
    ) -> Iterator[tuple[Sequence[Q], R]]:
        for batch, opened in open_ahead(self.root, batches):
            yield batch, task(self.engine, batch, opened)

    def _compute(self, task: Task[Q, R], batch: Sequence[Q]) -> R:
        return task(self.engine, batch, _opened(self.root, batch))

    def _submit(self, task: Task[Q, R], batch: Sequence[Q]) -> "Future[R]":
        if self._pool is None:
            self._pool = self._begin()
        try:
            return self._pool.submit(_work, task, batch)
        except BrokenProcessPool as problem:  # since the last result
            future: Future[R] = Future()
            future.set_exception(problem)
            return future

    def _finished(
        self, task: Task[Q, R], waiting: dict["Future[R]", Sequence[Q]], block: bool = True
    ) -> Iterator[tuple[Sequence[Q], R]]:
        """The batches that are done by now; `block`: waits for one."""
        done, _ = wait(waiting, None if block else 0, FIRST_COMPLETED)
        for future in done:
            batch = waiting.pop(future)
            try:
                result = future.result()
            except (BrokenProcessPool, OutOfMemory) as problem:
                if not self._devices.automatic:
                    raise self._for_lack_of_memory(problem) from problem
                log.warning("A worker process ended; the job continues without it: %s", problem)
                self._names = ()
                result = self._compute(task, batch)
            yield batch, result

    def _for_lack_of_memory(self, problem: Exception) -> OutOfMemory:
        if isinstance(problem, OutOfMemory):
            return problem
        return OutOfMemory(
            f"A worker on one of {', '.join(self._devices.names)} was terminated by the system, "
            "probably for lack of memory. Finished work is kept; run again with fewer devices."
        )

    def _begin(self) -> ProcessPoolExecutor:
        # Not a fork: CUDA cannot be used in one, and threads of this process hold locks.
        context = multiprocessing.get_context("spawn")
        free = context.Queue()
        for name in self._names:
            free.put(name)
        ended, self._alive = context.Pipe(duplex=False)
        engine = self.engine
        given = (
            ended, free, engine.settings, self.root, engine.scorer.prepared, self._takes_part,
        )  # fmt: skip
        return ProcessPoolExecutor(len(self._names), context, _begin, given)

    def _end(self) -> None:
        """End the processes now; their unfinished batches are computed again on resuming."""
        if self._alive is not None:
            self._alive.close()
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool = self._alive = None


def _opened(root: Path, batch: Sequence[HasImage]) -> Opened:
    return open_pictures(root, [question.image_path for question in batch])


# ---------------------------------------------------------------------- in the other processes

#: The engine and the picture folder of this process, once it is initialised.
_loaded: list[tuple[Engine, Path]] = []


def _begin(
    ended: Connection,
    free: "multiprocessing.Queue[str]",
    settings: Settings,
    root: Path,
    prepared: Any,
    polite: bool,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the calling process, which ends this
    threading.Thread(target=_end_with, args=(ended,), daemon=True).start()
    if polite and hasattr(os, "nice"):
        os.nice(_NICENESS)
    engine = Engine(replace(settings, device=free.get()))
    engine.scorer.take_over(prepared)
    _loaded.append((engine, root))


def _end_with(ended: Connection) -> None:
    """End this process, whatever it is doing, when the other end of the pipe is closed: by
    `Workers`, or by the system because the calling process was killed."""
    with suppress(EOFError, OSError):
        ended.recv()
    leave_at_once()


def _work(task: Task[Q, R], batch: Sequence[Q]) -> R:
    engine, root = _loaded[0]
    return task(engine, batch, _opened(root, batch))
