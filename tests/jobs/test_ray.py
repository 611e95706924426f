"""Shards scored with Ray have the same results as without, whatever happens to the workers."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from backend.jobs import shard_scores
from backend.jobs.ray_workers import Cluster
from backend.loaded_models import Engine
from tests.jobs.mortal_task import MortalTask
from tests.jobs.test_shard_scores import PAIRS, SHARDS, engine, rows, scored, source

__all__ = ["engine", "scored", "source"]  # fixtures


# Workers import torch one after another: a minute, or several on a busy machine.
@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_workers_give_the_same_results_and_may_die(
    scored: Path, source: Path, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    for name in ("detector", "run.json"):  # a worker trains it on more copies than the tests do
        out.mkdir(exist_ok=True)
        (out / name).write_bytes((scored / name).read_bytes())
    monkeypatch.setattr(shard_scores, "Task", MortalTask)
    report = shard_scores.score_shards(engine, source, out, devices=Cluster(workers=2))
    assert {file.name for file in tmp_path.glob("out-died-*")} == {
        "out-died-before", "out-died-written",
    }  # fmt: skip
    assert (report.scored_now, report.pairs, report.failed) == (SHARDS, SHARDS * PAIRS, ())
    for number in range(SHARDS):
        assert rows(out, number) == rows(scored, number)


def test_an_unreachable_cluster_is_reported(source: Path, engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"No response from a Ray cluster at 127\.0\.0\.1:1"):
        shard_scores.score_shards(engine, source, tmp_path / "out", devices=Cluster("127.0.0.1:1"))
