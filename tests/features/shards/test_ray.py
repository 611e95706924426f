"""Shards scored by processes, or with Ray, have the same results, whatever happens to those."""

import os
import sys
from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.features.shards import shard_scores
from backend.features.shards.ray_workers import Cluster, RayWorkers
from backend.jobs.scoring.workers import Devices
from backend.loaded_models import Engine
from tests.features.shards.mortal_task import MortalTask
from tests.features.shards.test_shard_scores import (
    PAIRS,
    SHARDS,
    assert_same,
    engine,
    rows,
    scored,
    shards,
    source,
)

__all__ = ["engine", "scored", "shards", "source"]  # fixtures


# Workers import torch one after another: a minute, or several on a busy machine.
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "devices",
    [Cluster(workers=2), Devices(("cpu", "cpu"), automatic=True)],
    ids=["ray", "processes"],
)
def test_workers_give_the_same_results_and_may_die(
    scored: Path, source: Path, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    devices: Cluster | Devices,
) -> None:  # fmt: skip
    out = tmp_path / "out"
    for name in ("detector", "run.json"):  # a worker trains it on more copies than the tests do
        out.mkdir(exist_ok=True)
        (out / name).write_bytes((scored / name).read_bytes())
    (tmp_path / "out-driver").write_text(str(os.getpid()))
    monkeypatch.setattr(shard_scores, "Task", MortalTask)
    # Its processes are counted, not chosen by what is idle.
    monkeypatch.setattr(shard_scores, "choose_processes", lambda devices, *_: devices)
    report = shard_scores.score_shards(engine, source, out, devices=devices)
    deaths = {file.name.partition("-died-")[2] for file in tmp_path.glob("out-died-*")}
    every = {f"{moment} {n:05d}.tar" for moment in ("before", "written") for n in range(SHARDS)}
    # A process may still be loading when this one has computed everything.
    assert deaths == every or isinstance(devices, Devices)
    assert (report.scored_now, report.pairs, report.failed) == (SHARDS, SHARDS * PAIRS, ())
    for number in range(SHARDS):
        assert_same(rows(out, number), scored, number)


def test_an_unreachable_cluster_is_reported(source: Path, engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"No response from a Ray cluster at 127\.0\.0\.1:1"):
        shard_scores.score_shards(engine, source, tmp_path / "out", devices=Cluster("127.0.0.1:1"))


def test_without_ray_its_extra_is_named(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingsError, match=r"requirements-ray\.txt"):
        RayWorkers(engine, Cluster())
