"""Several processes on one machine compute the same scores as one, and none is left running."""

import itertools
import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pytest

from backend.cli.score import ScoreCommand
from backend.engine.scoring import batch_memory, stream_session
from backend.engine.scoring.batch_memory import CPU, CUDA
from backend.engine.scoring.loading import choose_devices
from backend.errors import OutOfMemory, SettingsError
from backend.jobs.scoring import workers
from backend.jobs.scoring.workers import AUTOMATIC, Devices, Opened, WorkerGone, Workers
from backend.loaded_models import Engine
from backend.settings import MODELS, load_settings
from backend.workspace import Workspace
from db.queries import suggestion_queries, trajectory_queries
from db.queries.pair_queries import PairCaption
from research.scenes import demo
from tests.fixtures import programs
from tests.fixtures.sizes import Sizes
from tests.jobs.opening import QUICK_CLIP, OpenWorkspace, pairs_of, scoring_of
from tests.jobs.scoring import ended_pools

PAIRS = 16
ROOT = Path(__file__).resolve().parents[3]


def stored(workspace: Workspace) -> list[Any]:
    """Everything that scoring has computed, in a form that can be compared exactly."""
    pairs, run = pairs_of(workspace), scoring_of(workspace)
    with workspace.store.reading() as session:
        rows = trajectory_queries.trajectories_of(session, run.id, [pair.id for pair in pairs])
        known = {pair_id: only for pair_id, (only,) in rows.items()}
        return [
            [(pair.external_id, pair.s_0, pair.p_error, pair.icc) for pair in pairs],
            [
                (i, row.scores.tobytes(), row.removed, row.first_step_scores.tobytes(), row.whole)
                for i, row in sorted(known.items())
            ],
            [(i, str(known[i].expectation)) for i in sorted(known)],
            [
                [(s.caption, s.s_after, s.p_after, s.proposer) for s in listed]
                for pair in pairs
                if (listed := suggestion_queries.list_suggestions(session, pair.id, run.id))
            ],
        ]


def test_two_processes_store_the_same_scores_as_one(
    open_workspace: OpenWorkspace, tmp_path: Path, sizes: Sizes
) -> None:
    demo.write(tmp_path / "pairs", PAIRS, 0, 96, seed=6)
    broken = sorted((tmp_path / "pairs" / "images").iterdir())[5]
    workspaces = [open_workspace(tmp_path / name, **QUICK_CLIP) for name in ("one", "two")]
    for workspace in workspaces:
        workspace.jobs.import_dataset(tmp_path / "pairs")
    broken.write_bytes(broken.read_bytes()[:40])
    sizes(BATCH=3, TOGETHER_IF_SMALL=2, SUGGEST_ABOVE=0.0)
    results = []
    for workspace, devices in zip(workspaces, (None, Devices(("cpu", "cpu"))), strict=True):
        report = workspace.jobs.score(1, devices=devices)
        assert (report.scored, report.unreadable) == (PAIRS - 1, 1)
        assert len(report.first_unreadable) == 1
        results.append(stored(workspace))
    alone, together = results
    assert any(alone[3]), "no corrections to compare"
    assert alone == together


def test_scoring_at_a_card_s_pace_stores_the_same_trajectories(
    open_workspace: OpenWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions, texts of all images in a call, pictures reduced before the model wants them."""
    demo.write(tmp_path / "pairs", 6, 0, 96, seed=6)
    results = []
    for pace in (CPU, replace(CUDA, pairs=2)):
        for module in (batch_memory, stream_session):
            monkeypatch.setattr(module, "pace_of", lambda _, pace=pace: pace)
        workspace = open_workspace(tmp_path / str(pace.sessions), **QUICK_CLIP)
        workspace.jobs.import_dataset(tmp_path / "pairs")
        workspace.jobs.score(1)
        results.append(stored(workspace))
    (_, plain, *_), (_, card, *_) = results
    assert len(plain) == 6
    for (index, scores, removed, *_), (same, card_scores, card_removed, *_) in zip(
        plain, card, strict=True
    ):
        assert (index, removed) == (same, card_removed)
        np.testing.assert_allclose(
            np.frombuffer(card_scores, np.float32), np.frombuffer(scores, np.float32), atol=1e-6
        )


def test_devices_are_named() -> None:
    assert choose_devices("cpu, cpu") == ("cpu", "cpu")
    for unknown in ("cpu,tpu", "cuda:99"):
        with pytest.raises(SettingsError):
            choose_devices(unknown)


class _Ended:
    """A pool whose workers are killed by the system."""

    def __init__(self, *_: object) -> None:
        pass

    def submit(self, *_: object) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(WorkerGone())
        return future

    def end(self) -> None:
        pass


def _named(engine: Engine, batch: Sequence[PairCaption], opened: Opened) -> list[str]:
    return [question.caption for question in batch]


def _batches(count: int) -> list[list[PairCaption]]:
    return [[PairCaption(number, "1.png", f"dog {number}")] for number in range(count)]


def _without_models() -> Any:
    settings = load_settings({"model": str(MODELS / "scenes-clip")}, {})
    return SimpleNamespace(
        settings=settings, scorer=SimpleNamespace(prepared=ended_pools.WithoutModel())
    )


def test_the_work_of_an_automatic_process_that_was_killed_is_done_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_Pool", _Ended)
    nobody_asked = Devices(("cpu", "cpu", "cpu"), automatic=True)
    with Workers(_without_models(), tmp_path, nobody_asked) as several:
        done = [caption for _, made in several.map(_named, _batches(9)) for caption in made]
    assert sorted(done) == [f"dog {number}" for number in range(9)]


def test_the_number_of_processes_can_be_chosen() -> None:
    assert ScoreCommand().where() == AUTOMATIC
    assert ScoreCommand(devices="auto").where() == AUTOMATIC
    assert ScoreCommand(devices="cpu").where() == Devices(("cpu",))


#: A job whose other process writes its id and sleeps. A few batches, the main process would take.
_SLEEPING = """
from pathlib import Path
from backend.jobs.scoring.workers import Devices, Workers
from db.queries.pair_queries import PairCaption
from backend.loaded_models import Engine
from backend.settings import MODELS, load_settings
from tests.jobs.scoring.sleeping_worker import write_and_sleep

settings = load_settings({"model": str(MODELS / "scenes-clip")}, {"TRACED_DATA_DIRECTORY": "."})
with Workers(Engine(settings), Path("."), Devices(("cpu", "cpu"))) as workers:
    list(workers.map(write_and_sleep, [[PairCaption(0, "1.png", "dog")]] * 9))
"""


@pytest.mark.nightly
def test_worker_processes_end_if_the_main_process_is_killed(tmp_path: Path) -> None:
    parent = programs.start(["-c", _SLEEPING], os.environ, folder=tmp_path)
    try:
        pid = tmp_path / "pid"
        until = time.monotonic() + 300
        while not pid.exists() and time.monotonic() < until and parent.poll() is None:
            time.sleep(0.2)
        worker = psutil.Process(int(pid.read_text()))
        assert worker.pid != parent.pid
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    assert not psutil.wait_procs([worker], timeout=200)[1]


def end_programs(count: int) -> None:
    """So many programs, each of which ends its workers in the middle of large batches, and then
    itself, while another program wants the processor too. None waits for anything."""
    busy = programs.start(["-c", "while True: pass"], os.environ)
    try:
        for seed in range(count):
            command = ["-m", "tests.jobs.scoring.ended_pools", str(seed)]
            status, printed, reported = programs.run(command, os.environ)
            assert (status, printed) == (0, "ended\n"), (seed, reported)
            assert "waiting for" not in reported, (seed, reported)
    finally:
        busy.kill()
        busy.wait()


def test_a_program_ends_whatever_its_workers_were_doing() -> None:
    end_programs(1)


def test_a_worker_that_dies_while_it_starts_is_noticed() -> None:
    """What it is sent at its start is far more than fits into a pipe."""
    engine = _without_models()
    engine.scorer.prepared = (ended_pools.DeadlyToRead(), bytes(ended_pools.LARGE))
    with (
        Workers(engine, None, Devices(("cpu", "cpu"))) as several,
        pytest.raises(OutOfMemory),
    ):
        for _ in several.map(ended_pools.return_much, ([b"much"] for _ in itertools.count())):
            pass


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="tells what a process has written")
def test_a_worker_that_dies_while_it_sends_its_result_is_noticed() -> None:
    """Its pipe ends in the middle of the result, and the wait with it."""
    endless = (["dog"] for _ in itertools.count())
    with (
        Workers(_without_models(), None, Devices(("cpu", "cpu"))) as several,
        pytest.raises(OutOfMemory),
    ):
        list(several.map(ended_pools.die_while_sending, endless))


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_two_hundred_programs_end() -> None:
    end_programs(200)
