"""Compute trajectories on a Ray cluster: `score --engine ray`.

Pairs without a trajectory are written to Parquet shards in a shared folder; Ray Data distributes
them to workers, each with the models loaded; results are written to the store, and next to it as
Parquet, as they arrive. A worker that dies is replaced and its batch repeated; a program that dies
resumes from the store, as the local engine does.
"""

import logging
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.bundled import IS_CHECKOUT
from backend.engine.threads import set_passive_wait
from backend.engine.trajectories.exploring import Exploring
from backend.errors import SettingsError, missing_extra
from backend.jobs.ray_worker import QUESTIONS, RESULTS, ScoringWorker
from backend.loaded_models import Engine

#: Pairs per shard, and pairs that a worker scores together.
SHARD, BATCH = 2_000, 48

#: The folder that `backend` is imported from.
_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster and its settings.

    * `address`: of a running cluster ("auto", "ray://HOST:PORT", "HOST:PORT"); None: this machine.
    * `workers`: how many, each with its own models; None: one per core, or one per accelerator.
    * `folder`: for shards and results; on a cluster it must have the same path on all machines,
      like the dataset and the model. None: next to the store.
    """

    address: str | None = None
    workers: int | None = None
    folder: Path | None = None


def trajectories_by_ray(
    engine: Engine,
    cluster: Cluster,
    folder: Path,
    root: Path,
    exploring: Exploring,
    pairs: Iterable[tuple[int, str, str]],
    recognises: bool = False,
) -> Iterator[list[dict[str, Any]]]:
    """Rows of `RESULTS`, in parts as they arrive, unordered; each part is a file in
    `folder`/results before it is yielded. `pairs`: (id, image's name, caption);
    `recognises`: whether pictures that the model does not know are left out.

    Raises SettingsError if Ray is not installed or the cluster does not answer.
    """
    ray = _ray()
    shards = _shards(folder, pairs)
    if not shards:
        return
    scorer = engine.scorer
    on_accelerator = scorer.info.device.startswith("cuda")
    started = _connect(ray, cluster)
    try:
        resources = ray.cluster_resources()
        # One core is reserved for reading the shards; without it the workers would wait forever.
        most = int(resources.get("GPU", 1) if on_accelerator else resources.get("CPU", 2) - 1)
        # Small blocks keep all workers busy, and little is lost if one dies.
        questions = ray.data.read_parquet([str(shard) for shard in shards]).repartition(
            target_num_rows_per_block=2 * BATCH
        )
        answers = questions.map_batches(
            ScoringWorker,
            fn_constructor_kwargs={
                "settings": engine.settings,
                "root": str(root),
                "exploring": exploring,
                "prepared": scorer.prepared,
                # Only small arguments: what is in Ray's object store may be lost in a restart.
                "recognises": recognises,
            },
            compute=ray.data.ActorPoolStrategy(size=cluster.workers or max(1, most)),
            batch_size=BATCH,
            batch_format="pyarrow",
            num_cpus=0 if on_accelerator else 1,
            num_gpus=1 if on_accelerator else 0,
        )
        results = folder / "results"
        results.mkdir(parents=True, exist_ok=True)
        number = len(list(results.glob("*.parquet")))
        for table in answers.iter_batches(batch_size=None, batch_format="pyarrow"):
            part = results / f"part-{number:06d}.parquet"
            pq.write_table(table.cast(RESULTS), part.with_suffix(".half"))
            part.with_suffix(".half").replace(part)
            number += 1
            yield table.to_pylist()
    finally:
        if started:
            ray.shutdown()
        shutil.rmtree(folder / "shards", ignore_errors=True)


def _shards(folder: Path, pairs: Iterable[tuple[int, str, str]]) -> list[Path]:
    shards = folder / "shards"
    shutil.rmtree(shards, ignore_errors=True)  # left by a killed process
    shards.mkdir(parents=True)
    written: list[Path] = []
    waiting = iter(pairs)
    while group := list(islice(waiting, SHARD)):
        ids, images, captions = zip(*group, strict=True)
        path = shards / f"shard-{len(written):06d}.parquet"
        pq.write_table(pa.table([list(ids), list(images), list(captions)], schema=QUESTIONS), path)
        written.append(path)
    return written


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as problem:
        raise missing_extra("--engine ray", "ray") from problem
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # The newer reader of Parquet starts 32 processes to read the footers of a few small shards.
    context.use_datasource_v2 = False
    logging.getLogger("ray.data").setLevel(logging.WARNING)
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
            num_cpus=None if cluster.address else (cluster.workers or os.cpu_count() or 1) + 1,
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
