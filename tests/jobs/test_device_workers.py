"""Scoring on several devices of one machine: the same numbers as on one."""

from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from backend.engine.scoring.loading import choose_devices
from backend.engine.trajectories.exploring import Exploring
from backend.errors import OutOfMemory, SettingsError
from backend.jobs import device_workers, score_dataset
from backend.jobs.device_workers import Devices
from backend.jobs.scoring_stages import TRAJECTORIES
from backend.jobs.stored_trajectories import scored_batches
from backend.lab.scenes import demo
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from tests.engine.trajectories.comparison import assert_same_trajectory

PAIRS = 9


def opened(state: Path, source: Path) -> Workspace:
    settings = {
        "data_directory": str(state), "model": str(MODELS / "scenes-clip"), "detector": "logistic",
    }  # fmt: skip
    workspace = Workspace(load_settings(settings, {}))
    workspace.jobs.import_dataset(source)
    return workspace


def test_two_workers_give_the_same_numbers_as_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    demo.write(tmp_path / "pairs", PAIRS, 0, 96, seed=6)
    broken = sorted((tmp_path / "pairs" / "images").iterdir())[5]
    workspaces = [opened(tmp_path / name, tmp_path / "pairs") for name in ("one", "two")]
    broken.write_bytes(broken.read_bytes()[:40])
    monkeypatch.setattr(score_dataset, "BATCH", 2)
    results = []
    for workspace, devices in zip(workspaces, (None, Devices(("cpu", "cpu"))), strict=True):
        done = score_dataset._run(workspace.store, workspace.engine, 1)
        engine = workspace.engine
        waiting = score_dataset._unscored(workspace.store, done, score_dataset.BATCH)
        work = score_dataset._Work(TRAJECTORIES, engine.exploring, waiting, PAIRS)
        report = score_dataset._trajectories(
            workspace.store, engine, done, tmp_path / "pairs", work, devices, lambda *_: None
        )
        assert (report.scored, report.unreadable) == (PAIRS - 1, 1)
        ((pairs, trajectories),) = scored_batches(workspace.store, done)
        results.append((pairs, trajectories))
        workspace.store.close()
    (listed, local), (also_listed, distant) = results
    assert [pair.external_id for pair in listed] == [pair.external_id for pair in also_listed]
    for expected, result in zip(local, distant, strict=True):
        assert_same_trajectory(result, expected, 1e-5)


def test_devices_are_named_or_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert choose_devices("cpu, cpu") == ("cpu", "cpu")
    with pytest.raises(SettingsError, match="no device 'tpu'"):
        choose_devices("cpu,tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_devices("all") == ("cpu",)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_devices("all") == ("cuda:0", "cuda:1")
    with pytest.raises(SettingsError, match="there are 2 GPUs"):
        choose_devices("cuda:0,cuda:2")


class _Ended:
    """A pool whose workers are ended by the system."""

    def __init__(self, *_: object) -> None:
        pass

    def submit(self, *_: object) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(BrokenProcessPool("terminated abruptly"))
        return future

    def shutdown(self, **_: object) -> None:
        pass


def test_a_worker_that_is_ended_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_workers, "ProcessPoolExecutor", _Ended)
    settings = load_settings({"model": str(MODELS / "scenes-clip")}, {})
    engine: Any = SimpleNamespace(settings=settings, scorer=SimpleNamespace(prepared=None))
    parts = device_workers.trajectories_by_devices(
        engine,
        Devices(("cpu",)),
        tmp_path,
        Exploring(),
        [[(1, "1.png", "a dog")]],
    )
    with pytest.raises(OutOfMemory, match="What is scored is kept"):
        list(parts)
