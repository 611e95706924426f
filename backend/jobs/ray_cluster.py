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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from backend.bundled import IS_CHECKOUT
from backend.engine.captions import Caption
from backend.engine.familiarity import Familiarity
from backend.engine.threads import set_passive_wait
from backend.engine.trajectories.exploring import Exploring
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from backend.errors import SettingsError, missing_extra
from backend.jobs.image_batches import open_pictures
from backend.jobs.known_pictures import encode_known
from backend.loaded_models import Engine
from backend.settings import Settings

#: Schemas of inputs and results, one row per pair. A pair whose picture cannot be read or is
#: unknown to the model comes back with only the `problem`.
QUESTIONS = pa.schema([("pair_id", pa.int64()), ("image", pa.string()), ("caption", pa.string())])
_FLOATS = pa.list_(pa.float32())
RESULTS = pa.schema(
    [
        ("pair_id", pa.int64()), ("image", pa.string()), ("caption", pa.string()),
        ("problem", pa.string()), ("unknown", pa.bool_()),
        ("scores", _FLOATS), ("similarities", _FLOATS), ("removed", pa.list_(pa.int32())),
        ("first_step_scores", _FLOATS), ("truncated", pa.bool_()),
        ("captions", pa.list_(pa.string())),
        ("second_scores", _FLOATS), ("second_first_step_scores", _FLOATS),
        ("image_embedding", _FLOATS), ("whole", pa.bool_()),
    ]
)  # fmt: skip


class ScoringWorker:
    """Loads the models once; then scores batch after batch (Ray Data's `map_batches`)."""

    def __init__(
        self,
        settings: Settings,
        root: str,
        exploring: Exploring,
        prepared: Any,  #: the result of `Scorer.prepare` in the driver
        recognises: bool = False,  #: whether pictures that the model does not know are left out
    ) -> None:
        self._engine = Engine(settings)
        self._root = Path(root)
        self._exploring = exploring
        self._known = Familiarity.of_model(settings.model) if recognises else None
        self._engine.scorer.take_over(prepared)

    def __call__(self, batch: pa.Table) -> pa.Table:
        records = batch.to_pylist()
        opened = open_pictures(self._root, [row["image"] for row in records])
        states, problems, unknown = encode_known(self._engine, opened, self._known)
        readable = [row for row in records if row["image"] in states]
        trajectories = self._engine.trajectories(
            [(states[row["image"]], row["caption"]) for row in readable],
            [row["pair_id"] for row in readable],
            self._exploring,
        )
        vectors = self._engine.image_embeddings([states[row["image"]] for row in readable])
        rows = [
            {**row, **_columns(trajectory), "image_embedding": None if vectors is None else vector}
            for row, trajectory, vector in zip(
                readable, trajectories, vectors if vectors is not None else readable, strict=True
            )
        ]
        rows += [
            {**row, "problem": why, "unknown": row["image"] in unknown}
            for row in records
            if (why := problems.get(row["image"]) or unknown.get(row["image"])) is not None
        ]
        return pa.Table.from_pylist(rows, RESULTS)


def _columns(trajectory: Trajectory) -> dict[str, Any]:
    auxiliary = trajectory.auxiliary
    return {
        "problem": None,
        "unknown": False,
        "scores": trajectory.scores,
        "similarities": trajectory.similarities,
        "removed": list(trajectory.removed),
        "first_step_scores": trajectory.first_step_scores,
        "truncated": trajectory.truncated,
        "whole": trajectory.whole,
        "captions": None if trajectory.captions is None else list(trajectory.captions),
        "second_scores": None if auxiliary is None else auxiliary.scores,
        "second_first_step_scores": None if auxiliary is None else auxiliary.first_step_scores,
    }


def trajectory_of(row: Mapping[str, Any]) -> Trajectory:
    """The trajectory in a row of RESULTS whose `problem` is null."""

    def floats(name: str) -> Any:
        return np.array(row[name], np.float32)

    auxiliary = None
    if row["second_scores"] is not None:
        auxiliary = AuxiliaryScores(floats("second_scores"), floats("second_first_step_scores"))
    return Trajectory(
        Caption.parse(row["caption"]),
        floats("scores"),
        floats("similarities"),
        tuple(row["removed"]),
        floats("first_step_scores"),
        row["truncated"],
        None if row["captions"] is None else tuple(row["captions"]),
        auxiliary,
        whole=row["whole"],
    )


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
    shard_files: list[Path] = []
    waiting = iter(pairs)
    while group := list(islice(waiting, SHARD)):
        ids, images, captions = zip(*group, strict=True)
        path = shards / f"shard-{len(shard_files):06d}.parquet"
        pq.write_table(pa.table([list(ids), list(images), list(captions)], schema=QUESTIONS), path)
        shard_files.append(path)
    return shard_files


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as problem:
        raise missing_extra("A Ray cluster", "ray") from problem
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
