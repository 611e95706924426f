"""Compute batches in several processes of this machine: one per GPU, or one per idle core.

A small model gains nothing from a second thread (`engine/threads.py`), so several cores are used by
several processes, each with its own copy of the models. A task is the same function wherever it
runs, over the same batches, so that the numbers do not depend on the number of processes. The
database is read and written by the calling process alone, and a job that is interrupted resumes
like any other.

A job that waits for a worker asks every second whether it is still wanted. A worker that is slow is
waited for; one that somebody has stopped (SIGSTOP) is ended after a minute.
"""

import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from PIL import Image

from backend.bundled import exit_immediately
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.engine import threads
from backend.engine.scoring.protocol import Overlapping, Reducing
from backend.errors import OutOfMemory, TracedError, WorkerEnded, is_out_of_memory
from backend.jobs.scoring.image_batches import open_ahead, open_pictures
from backend.loaded_models import Engine
from backend.settings import Settings

log = logging.getLogger(f"traced.{__name__}")

#: Batches in flight per process, the current one included, so that none waits for its next batch.
_AHEAD = 2
#: Remaining captions that justify each further process: loading the models takes as long as
#: a few hundred of them.
WORTH_A_PROCESS = 400
#: Free memory that a further process with a small model needs, in bytes.
MEMORY_OF_A_PROCESS = 10**9
#: Priority below that of other programs, and of the server that a job runs in.
_NICENESS = 10
#: Seconds between two looks at what a job waits for.
_LOOK_EVERY = 1.0
#: How many looks in a row find a process stopped before it is ended. They are counted, not timed:
#: if the whole program was stopped (Ctrl-Z), none has passed when it continues.
MOST_LOOKS_AT_A_STOPPED = 60


Opened = Mapping[str, Image.Image | str]
Q = TypeVar("Q")
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


def choose_processes(devices: Devices | None, engine: Engine, captions: int) -> Devices | None:
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


class _Pool:
    """Processes with a pipe each. A thread asks each one, and nobody waits for the threads: where a
    process is killed in the middle of a batch or a result, its pipe ends, and with it the wait.

    `concurrent.futures` has one pipe for all batches and one for all results, whose other ends the
    calling process holds too, and the interpreter waits for its threads before it ends.
    """

    def __init__(
        self, names: Sequence[str], settings: Settings, root: Path | None, preparation: Any,
        polite: bool,
    ) -> None:  # fmt: skip
        # Not forks: CUDA cannot be used in one, and threads of this process hold locks.
        context = multiprocessing.get_context("spawn")
        receiver, self._alive = context.Pipe(duplex=False)
        self.processes: list[SpawnProcess] = []
        self._idle: SimpleQueue[tuple[SpawnProcess, Connection]] = SimpleQueue()
        self._threads = DaemonPool(len(names))
        self._threads.__enter__()
        for name in names:
            connection, inner = context.Pipe()
            process = context.Process(target=_work_for, args=(inner, receiver, polite))
            process.start()
            inner.close()
            self.processes.append(process)
            # Not an argument: its size has no limit, and `start` would wait for ever for a process
            # that ends before it has read it.
            begin = ForkingPickler.dumps((replace(settings, device=name), root, preparation))
            self._threads.submit(self._begin, process, connection, begin)
        receiver.close()

    def _begin(self, process: SpawnProcess, connection: Connection, begin: Any) -> None:
        with suppress(OSError):  # it has ended, as the first batch will find
            connection.send_bytes(begin)
        self._idle.put((process, connection))

    def submit(self, task: Task[Q, R], batch: Sequence[Q]) -> "Future[R]":
        """The task's result; WorkerGone if its process ended, which ends the others too."""
        return self._threads.submit(self._ask, task, batch)

    def _ask(self, task: Task[Q, R], batch: Sequence[Q]) -> R:
        process, connection = worker = self._idle.get()  # as many as threads
        try:
            connection.send((task, batch))
            result, problem = connection.recv()
        except (EOFError, OSError) as error:
            process.join(_LOOK_EVERY)  # its status is known a moment later
            for other in self.processes:
                other.terminate()
            raise WorkerGone("A worker process ended.") from error
        finally:
            self._idle.put(worker)
        if problem is not None:
            raise problem
        return result

    def end(self) -> None:
        """End the processes now."""
        self._alive.close()
        for process in self.processes:
            process.kill()  # also those that are stopped, and cannot notice
        for process in self.processes:
            process.join(_LOOK_EVERY)
        self._threads.__exit__()


class WorkerGone(Exception):
    """The process of a worker ended before it returned a result."""


class Workers:
    """The processes of one job. They are started on first use, and end with this object's context
    or with the calling process, however that ends."""

    def __init__(
        self,
        engine: Engine,
        root: Path | None,
        devices: Devices | None = None,
        while_waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """`root`: the folder of the pictures, None: tasks open none; `devices`: None for the
        calling process alone; `while_waiting`: called every second; may raise, to end the job. The
        engine's scorer has to be prepared already (`Scorer.prepare`)."""
        self.engine = engine
        self.root, self._devices = root, devices or Devices()
        self._while_waiting = while_waiting
        names = self._devices.names
        self._takes_part = all(name.startswith("cpu") for name in names)
        self._names = names[1:] if self._takes_part else names
        self._pool: _Pool | None = None
        #: Looks in a row that found a process stopped, by its id.
        self._looks: dict[int, int] = {}
        self._was_stopped = False

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes now; their unfinished batches are computed again on resuming."""
        if self._pool is not None:
            self._pool.end()

    @property
    def device(self) -> str:
        """The kind of device that batches should be sized for."""
        return self.engine.scorer.info.device if self._takes_part else self._names[0]

    def batch_size(self, on_cpu: int, in_sessions: bool = False) -> int:
        """How many pairs to compute and commit together: `on_cpu`, or as many as an accelerator
        keeps in flight. `in_sessions`: in all sessions that compute at the same time."""
        from backend.engine.scoring.batch_memory import pace_of

        pace = pace_of(self.device)
        if not pace.pads:
            return on_cpu
        is_several = in_sessions and isinstance(self.engine.scorer, Overlapping)
        return pace.pairs * (pace.sessions if is_several else 1)

    def map(
        self, task: Task[Q, R], batches: Iterable[Sequence[Q]], reduces: bool = False
    ) -> Iterator[tuple[Sequence[Q], R]]:
        """Each batch with the task's result, in the order in which they are finished. `reduces`:
        whether the task encodes the pictures and does nothing else with them, so that they may be
        reduced before (`Reducing`).

        Raises whatever the task or `while_waiting` raises. If an explicitly requested process
        ended: OutOfMemory if it was killed, as the system does for lack of memory, else
        WorkerEnded. The work of automatic ones is done by the calling process instead.
        """
        if not self._names:
            ahead: Any = ((batch, {}) for batch in batches)
            if self.root is not None:
                every: Any = batches
                ahead = open_ahead(self.root, every, self._reduce if reduces else None)
            for batch, pictures in ahead:
                yield batch, task(self.engine, batch, pictures)
            return
        waiting: dict[Future[R], Sequence[Q]] = {}
        for batch in batches:
            if len(waiting) >= _AHEAD * len(self._names):
                if self._takes_part:
                    yield batch, self._compute(task, batch)
                    yield from self._finished_batches(task, waiting, block=False)
                    continue
                yield from self._finished_batches(task, waiting)
            waiting[self._submit(task, batch)] = batch
        while waiting:
            yield from self._finished_batches(task, waiting, block=not self._takes_part)
            if waiting and self._takes_part:
                # Nothing is waited for: others may still be loading, or get no processor time.
                last = next(reversed(waiting))
                last.cancel()
                batch = waiting.pop(last)
                yield batch, self._compute(task, batch)

    @property
    def _reduce(self) -> Callable[[Image.Image], Any] | None:
        """Of an accelerator's scorer: a CPU has no time to spare while the model works."""
        from backend.engine.scoring.batch_memory import pace_of

        scorer = self.engine.scorer
        is_ahead = isinstance(scorer, Reducing) and pace_of(scorer.info.device).pads
        return scorer.reduced if is_ahead else None

    def _compute(self, task: Task[Q, R], batch: Sequence[Q]) -> R:
        return task(self.engine, batch, _open_batch(self.root, batch))

    def _submit(self, task: Task[Q, R], batch: Sequence[Q]) -> "Future[R]":
        if self._pool is None:
            scorer, settings = self.engine.scorer, self.engine.settings
            self._pool = _Pool(self._names, settings, self.root, scorer.prepared, self._takes_part)
        return self._pool.submit(task, batch)

    @property
    def _processes(self) -> Sequence[SpawnProcess]:
        return self._pool.processes if self._pool is not None else ()

    def _finished_batches(
        self, task: Task[Q, R], waiting: dict["Future[R]", Sequence[Q]], block: bool = True
    ) -> Iterator[tuple[Sequence[Q], R]]:
        """The batches that are done by now; `block`: waits for one."""
        for future in self._wait(waiting) if block else wait(waiting, 0).done:
            batch = waiting.pop(future)
            try:
                result = future.result()
            except Exception as problem:
                if not (isinstance(problem, WorkerGone) or is_out_of_memory(problem)):
                    raise
                if not self._devices.automatic:
                    raise self._why_ended(problem) from problem
                log.warning("A worker process ended; the job continues without it: %s", problem)
                self._names = ()
                result = self._compute(task, batch)
            yield batch, result

    def _wait(self, futures: Iterable["Future[R]"]) -> set["Future[R]"]:
        """Wait until one of these is done; returns all that are. However long it takes, but not
        for a process that is stopped. Raises what `while_waiting` raises."""
        while True:
            done = wait(futures, _LOOK_EVERY, FIRST_COMPLETED).done
            if done:
                return done
            self._while_waiting()
            self._end_stopped()

    def _end_stopped(self) -> None:
        """End processes that were stopped during the last minute, so that the pool breaks."""
        stopped_processes = [process for process in self._processes if _is_stopped(process)]
        self._looks = {process.ident or 0: self._looks.get(process.ident or 0, 0) + 1
                       for process in stopped_processes}  # fmt: skip
        if any(looks >= MOST_LOOKS_AT_A_STOPPED for looks in self._looks.values()):
            self._was_stopped = True
            for process in stopped_processes:
                process.kill()

    def _why_ended(self, problem: Exception) -> TracedError:
        """The error to raise, with what is known about the end of a process."""
        which = f"A worker on one of {', '.join(self._devices.names)}"
        again = "Finished work is kept; run again to resume"
        if not isinstance(problem, WorkerGone):
            return OutOfMemory(
                f"{which} needs more than there is ({str(problem).rstrip('.') or 'memory'}). "
                f"{again} with fewer devices."
            )
        if self._was_stopped:
            return WorkerEnded(
                f"{which} was stopped by another program (SIGSTOP) for "
                f"{MOST_LOOKS_AT_A_STOPPED * _LOOK_EVERY:.0f} seconds, and was ended. {again}."
            )
        for process in self._processes:  # a crash is known to the pool before its status is
            process.join(_LOOK_EVERY)
        # Those that are left when one ends are terminated.
        codes = {code for process in self._processes if (code := process.exitcode)}
        code = min(codes - {-signal.SIGTERM} or codes, default=-signal.SIGKILL)
        if code == -signal.SIGKILL:
            return OutOfMemory(
                f"{which} was terminated by the system, probably for lack of memory. {again} with "
                "fewer devices."
            )
        how = f"by the signal {signal.Signals(-code).name}" if code < 0 else f"with status {code}"
        return WorkerEnded(f"{which} ended {how}. {again}.")


def _is_stopped(process: SpawnProcess) -> bool:
    import psutil

    try:
        return psutil.Process(process.ident).status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return False


def _open_batch(root: Path | None, batch: Sequence[Any]) -> Opened:
    if root is None:
        return {}
    return open_pictures(root, [question.image_path for question in batch])


# ---------------------------------------------------------------------- in the other processes


def _work_for(
    connection: Connection,
    receiver: Connection,
    polite: bool,
) -> None:
    """Answer each (task, batch) with (result, None) or (None, what was raised). First come the
    settings, the folder of the pictures and what the scorer has prepared."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the calling process, which ends this
    threading.Thread(target=_end_with, args=(receiver,), daemon=True).start()
    if polite and hasattr(os, "nice"):
        os.nice(_NICENESS)
    try:
        settings, root, preparation = connection.recv()
    except (EOFError, OSError):
        return
    engine = Engine(settings)
    engine.scorer.take_over(preparation)
    with suppress(EOFError, OSError):
        while True:
            task, batch = connection.recv()
            try:
                answer = ForkingPickler.dumps((task(engine, batch, _open_batch(root, batch)), None))
            except Exception as problem:
                answer = _pickle_problem(problem)
            connection.send_bytes(answer)


def _pickle_problem(problem: Exception) -> Any:
    """An answer with an exception, or with its text if it cannot be sent."""
    problem.add_note(f"In a worker process:\n{traceback.format_exc()}")
    try:
        answer = ForkingPickler.dumps((None, problem))
        ForkingPickler.loads(answer)
    except Exception:
        return ForkingPickler.dumps((None, RuntimeError(f"{type(problem).__name__}: {problem}")))
    return answer


def _end_with(receiver: Connection) -> None:
    """End this process, whatever it is doing, when the other end of the pipe is closed: by
    `Workers`, or by the system because the calling process was killed."""
    with suppress(EOFError, OSError):
        receiver.recv()
    exit_immediately()
