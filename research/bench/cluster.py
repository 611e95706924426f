"""How a cluster scales, and what a billion pairs would cost: `python app.py bench --ray 2000`

Measured: first steps per second of the engine alone, and of shards scored by one Ray worker and by
two (`score SOURCE --out DESTINATION/ --engine ray`), on drawn pairs with the embedded model, and of
one core with models of the published sizes (random weights). The rest is extrapolated:
core-hours = pairs / rate of one core / scaling efficiency of two workers / 3600.
"""

import io
import json
import tarfile
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import torch

from backend.engine.trajectories.exploring import Exploring
from backend.features.shards.ray_workers import Cluster
from backend.features.shards.shard_scores import score_shards
from backend.jobs.scoring.image_batches import encode_opened, open_pictures
from backend.jobs.scoring.trajectory_stages import BATCH
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.settings import load_settings
from research.bench.measure_scoring import measure
from research.scenes import demo

#: Dataset sizes whose cost is reported, and the cluster size (cores) for which days are given.
SIZES, CORES = (1_000_000, 100_000_000, 1_000_000_000), 1000
#: Pairs in a shard.
_SHARD = 100
_PUBLISHED = ("clip", "blip-itc", "blip-itm")


@dataclass(frozen=True)
class Rate:
    """Pairs per second. `startup`: seconds until the first result, which includes starting workers
    and loading models."""

    what: str
    pairs_a_second: float
    startup: float = 0.0


@dataclass(frozen=True)
class Cost:
    """Core-hours for each of SIZES, from the pairs per second of one core."""

    model: str
    pairs_a_core_second: float
    core_hours: tuple[float, ...]


@dataclass(frozen=True)
class ClusterReport:
    """`kept`: scaling efficiency, the rate of two workers over twice the rate of one."""

    pairs: int
    rates: tuple[Rate, ...]
    kept: float
    costs: tuple[Cost, ...]

    def table(self) -> str:
        lines = [f"{self.pairs} drawn pairs, embedded BLIP-ITM, first steps of Elimination"]
        lines += [
            f"{rate.what:28} {rate.pairs_a_second:8.1f} pairs/s   {rate.startup:5.1f} s to start"
            for rate in self.rates
        ]
        lines.append(f"two workers keep {self.kept:.0%} of twice one worker's rate")
        sizes = "".join(f"{f'{size:,}':>34}" for size in SIZES)
        lines.append(f"{'model':26} {'pairs/s a core':>14}{sizes}")
        for cost in self.costs:
            cells = "".join(
                f"{f'{hours:,.0f} core-h, {hours / CORES / 24:,.1f} days':>34}"
                for hours in cost.core_hours
            )
            lines.append(f"{cost.model:26} {cost.pairs_a_core_second:14.2f}{cells}")
        lines.append(f"days: with {CORES:,} cores like this machine's")
        return "\n".join(lines)


def bench_cluster(
    pairs: int, published_size_pairs: int = 4, progress: Progress = no_progress
) -> ClusterReport:
    """Measure on `pairs` drawn pairs, and models of the published sizes on
    `published_size_pairs`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress(0, 5, "Drawing pairs")
        demo.write(folder / "pairs", pairs, 0, 96, seed=7)
        drawn_pairs = [
            (number, f"images/scene-{number:04d}.webp", pair.caption)
            for number, pair in enumerate(demo.make_pairs(pairs, 0, 7)[1])
        ]
        _write_shards(folder)
        engine = Engine(load_settings({"data_directory": str(folder)}, {}))
        progress(1, 5, "This program alone")
        rates = [_alone(engine, folder / "pairs", drawn_pairs)]
        for workers in (1, 2):
            progress(1 + workers, 5, f"Ray, {workers} workers")
            rates.append(_by_ray(engine, workers, folder))
    efficiency = rates[2].pairs_a_second / (2 * rates[1].pairs_a_second)
    progress(4, 5, "Models of the published sizes")
    one_core = [("embedded BLIP-ITM", rates[1].pairs_a_second)]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for kind in _PUBLISHED:
            measurement = measure(kind, Exploring(), published_size_pairs, (8, 20), reference=False)
            one_core.append((f"{kind}, published size", measurement.pairs_per_second))
    finally:
        torch.set_num_threads(threads)
    costs = tuple(
        Cost(model, rate, tuple(size / rate / efficiency / 3600 for size in SIZES))
        for model, rate in one_core
    )
    return ClusterReport(pairs, tuple(rates), efficiency, costs)


def _alone(engine: Engine, root: Path, drawn_pairs: list[tuple[int, str, str]]) -> Rate:
    start = time.monotonic()
    engine.scorer  # noqa: B018  (loads it)
    scoring_start = time.monotonic()
    for first in range(0, len(drawn_pairs), BATCH):
        part = drawn_pairs[first : first + BATCH]
        pictures = open_pictures(root, [image for _, image, _ in part])
        states, _ = encode_opened(engine, pictures)
        requests = [(states[image], caption) for _, image, caption in part]
        engine.trajectories(requests, exploring=replace(engine.exploring, whole=False))
    return Rate(
        f"this program, {torch.get_num_threads()} threads",
        len(drawn_pairs) / (time.monotonic() - scoring_start),
        scoring_start - start,
    )


def _write_shards(folder: Path) -> None:
    rows = map(json.loads, (folder / "pairs/metadata.jsonl").read_text("utf-8").splitlines())
    (folder / "shards").mkdir()
    for number, group in enumerate(iter(lambda: list(islice(rows, _SHARD)), [])):
        with tarfile.open(folder / f"shards/{number:05d}.tar", "w") as archive:
            for row in group:
                archive.add(folder / "pairs" / row["file_name"], f"{row['id']}.webp")
                text = tarfile.TarInfo(f"{row['id']}.txt")
                text.size = len(row["caption"].encode())
                archive.addfile(text, io.BytesIO(row["caption"].encode()))


def _by_ray(engine: Engine, workers: int, folder: Path) -> Rate:
    start = time.monotonic()
    arrivals: list[float] = []

    def note(done: int, _: int, message: str) -> None:
        if message.startswith("Scored"):
            arrivals.append(time.monotonic())

    out = folder / f"scores-{workers}"
    score_shards(engine, folder / "shards", out, note, Cluster(workers=workers))
    # Measured from the first shards on, which are not counted: models were loaded meanwhile.
    first = min(workers, len(arrivals) - 1)
    seconds = arrivals[-1] - arrivals[first - 1]
    rate = (len(arrivals) - first) * _SHARD / seconds
    return Rate(f"Ray, {workers} workers of one core", rate, arrivals[0] - start)
