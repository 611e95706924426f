"""Compute tasks on the machines of a Ray cluster: `score SOURCE --out DESTINATION/ --engine ray`.

Each worker is a Ray actor with its own models, on a core or a GPU of its own, and has one task at a
time; so nothing waits in Ray's object store, and only tasks and their small results travel. A
worker that dies is started again and its task repeated; Ray ends all of them with this program.
"""

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backend.bundled import IS_CHECKOUT
from backend.engine.threads import set_passive_wait
from backend.errors import SettingsError, TracedError, WorkerEnded, missing_extra
from backend.jobs.scoring.workers import Q, R, Task
from backend.loaded_models import Engine
from backend.settings import Settings

#: How often a task is repeated whose worker died.
_REPEATED = 3
#: The folder that `backend` is imported from.
_ROOT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Cluster:
    """`address`: of a running cluster ("auto", "ray://HOST:PORT", "HOST:PORT"); None: this machine.
    `workers`: how many; None: one per core, or one per accelerator."""

    address: str | None = None
    workers: int | None = None


class RayWorkers:
    """The workers of one job; they end with this object's context."""

    def __init__(self, engine: Engine, cluster: Cluster) -> None:
        """Raises SettingsError if Ray is not installed or the cluster does not answer, and
        ModelUnavailable if a worker cannot load the model."""
        self._ray = _ray()
        self._cluster = cluster
        self._has_started = _connect(self._ray, cluster)
        resources = self._ray.cluster_resources()
        on_gpu = "GPU" in resources and engine.settings.device != "cpu"
        most = int(resources.get("GPU" if on_gpu else "CPU", 1))
        worker = self._ray.remote(
            num_cpus=0 if on_gpu else 1,
            num_gpus=1 if on_gpu else 0,
            max_restarts=-1,
            max_task_retries=_REPEATED,
        )(_Worker)
        self._idle = [worker.remote(engine.settings) for _ in range(cluster.workers or most)]
        self._get(self._idle[0].load.remote())

    def __enter__(self) -> "RayWorkers":
        return self

    def __exit__(self, *_: object) -> None:
        self._idle.clear()
        if self._has_started:
            self._ray.shutdown()

    def map(
        self, task: Task[Q, R], batches: Iterable[Sequence[Q]]
    ) -> Iterator[tuple[Sequence[Q], R]]:
        """Each batch with the task's result, in the order in which they are finished. Raises what a
        task raises; and, when all others are done, WorkerEnded for those whose workers died."""
        task_reference = self._ray.put(task)
        running: dict[Any, tuple[Any, Sequence[Q]]] = {}
        deaths: list[str] = []

        def finished_batches() -> Iterator[tuple[Sequence[Q], R]]:
            for answer in self._ray.wait(list(running))[0]:
                worker, batch = running.pop(answer)
                self._idle.append(worker)
                try:
                    yield batch, self._get(answer)
                except WorkerEnded as problem:
                    deaths.append(str(problem))

        for batch in batches:
            while not self._idle:
                yield from finished_batches()
            worker = self._idle.pop()
            running[worker.compute.remote(task_reference, batch)] = worker, batch
        while running:
            yield from finished_batches()
        if deaths:
            raise WorkerEnded(
                f"{len(deaths)} tasks ended their workers {_REPEATED + 1} times each, probably for "
                f"lack of memory; everything else is done. The last: {deaths[-1]}"
            )

    def _get(self, answer: Any) -> Any:
        try:
            return self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as problem:
            cause = problem.cause
            raise cause if isinstance(cause, TracedError) else problem from None
        except self._ray.exceptions.RayError as problem:
            raise WorkerEnded(str(problem).splitlines()[0]) from problem


class _Worker:
    """Runs on another process or machine; loads its models once."""

    def __init__(self, settings: Settings) -> None:
        self._engine = Engine(settings)

    def load(self) -> None:
        """Raises ModelUnavailable, here rather than in the first task."""
        self._engine.scorer  # noqa: B018  (loads it)

    def compute(self, task: Task[Any, Any], batch: Sequence[Any]) -> Any:
        return task(self._engine, batch, {})


def _ray() -> Any:
    try:
        import ray
    except ImportError as problem:
        raise missing_extra("A Ray cluster", "ray") from problem
    return ray


def _knock(address: str) -> None:
    """Fail at once if nothing listens at the address; Ray would only report it after minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=10):
        pass


def _connect(ray: Any, cluster: Cluster) -> bool:
    """Whether this call started or joined the cluster, and therefore has to leave it."""
    if ray.is_initialized():
        return False
    quiet: dict[str, str] = {}
    set_passive_wait(quiet)
    environment: dict[str, Any] = {"env_vars": {"PYTHONPATH": str(_ROOT), **quiet}}
    if cluster.address is not None:
        # A checkout is sent to the other machines; its dependencies must be installed there. If
        # this program is an installed package, it must be installed there as well.
        environment = {"env_vars": quiet}
        if IS_CHECKOUT:
            environment |= {
                "working_dir": str(_ROOT),
                "excludes": ["/data", "/.venv", "/.git", "/tests", "/assets/demo"],
            }
    try:
        if cluster.address not in (None, "auto"):
            _knock(str(cluster.address))
        ray.init(
            address=cluster.address,
            num_cpus=None if cluster.address else cluster.workers or os.cpu_count() or 1,
            include_dashboard=False if cluster.address is None else None,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env=environment,
        )
    except Exception as problem:  # from Ray, gRPC or the network
        raise SettingsError(
            f"No response from a Ray cluster at {cluster.address or 'this machine'}: {problem}"
        ) from problem
    return True
