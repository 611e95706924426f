"""Worker processes that are stopped, killed or run out of memory in the middle of a job: the job
says what happened, and the same command continues with the rest. Real processes and signals."""

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from sqlalchemy import select

from backend.errors import OutOfMemory, TracedError, WorkerEnded, explain
from backend.jobs.scoring import score_dataset
from backend.jobs.scoring.trajectory_stages import TrajectoryStage
from backend.jobs.scoring.workers import Devices, Opened, Workers
from backend.loaded_models import Engine
from backend.workspace import Workspace
from db.models import Verdict
from db.queries.pair_queries import PairCaption
from research.scenes import demo
from tests.faults import scenarios
from tests.faults.stored_scores import stored
from tests.fixtures.sizes import Sizes

PAIRS = 6
PATIENCE = 600
#: One worker, beside which the calling process only waits.
ANOTHER = Devices(("cpu",))

pytestmark = pytest.mark.timeout(4 * PATIENCE)


class OnlyOthers(Workers):
    """Computes nothing in the calling process, as with several GPUs."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._takes_part, self._names = False, self._devices.names


@pytest.fixture
def workspace(tmp_path: Path, sizes: Sizes) -> Iterator[Workspace]:
    demo.write(tmp_path / "pairs", PAIRS, 0, 96, seed=7)
    opened = scenarios.workspace(tmp_path)
    opened.jobs.import_dataset(tmp_path / "pairs")
    sizes(BATCH=2)
    yield opened
    opened.store.close()


def after_the_first_batch(
    monkeypatch: pytest.MonkeyPatch, disturb: Callable[[psutil.Process], None]
) -> list[BaseProcess]:
    """Disturb the worker once the first batch is stored; returns it, once that is done."""
    disturbed: list[BaseProcess] = []
    save = TrajectoryStage.save

    def saved(*arguments: Any) -> None:
        save(*arguments)
        if not disturbed:
            (worker,) = multiprocessing.active_children()
            disturb(psutil.Process(worker.ident))
            disturbed.append(worker)

    monkeypatch.setattr(TrajectoryStage, "save", saved)
    monkeypatch.setattr(score_dataset, "Workers", OnlyOthers)
    return disturbed


def check_resumed(workspace: Workspace, kept: dict[int, bytes]) -> None:
    """The same command computes what is left, and nothing twice."""
    assert kept
    report = workspace.jobs.score(1, suggestions=False)
    assert (report.pairs, report.scored) == (PAIRS, PAIRS - len(kept))
    whole = stored(workspace)
    assert len(whole) == PAIRS
    assert {pair: whole[pair] for pair in kept} == kept


def scored_in_background(workspace: Workspace) -> int:
    """The id of the job."""
    return workspace.jobs.background.start(
        "score", 1,
        lambda progress: {
            "job": workspace.jobs.score(1, progress, ANOTHER, suggestions=False).scored
        },
    )  # fmt: skip


@pytest.mark.nightly
def test_a_job_that_waits_for_a_stopped_worker_can_be_cancelled(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopped = after_the_first_batch(patch, psutil.Process.suspend)
        job = scored_in_background(workspace)
        until = time.monotonic() + PATIENCE
        while not stopped and time.monotonic() < until:
            time.sleep(0.1)
        assert psutil.Process(stopped[0].ident).status() == psutil.STATUS_STOPPED
        workspace.jobs.cancel(job)
        assert workspace.jobs.background.wait(PATIENCE)
    assert workspace.jobs.job(job).status == "cancelled"
    stopped[0].join(PATIENCE)
    assert stopped[0].exitcode == -signal.SIGKILL
    check_resumed(workspace, stored(workspace))


def judge_all(workspace: Workspace, rounds: int) -> dict[int, list[str]]:
    """Verdicts on every pair, as a curator gives them; returns those that were confirmed."""
    confirmed: dict[int, list[str]] = {}
    for number in range(rounds):
        for pair in range(1, PAIRS + 1):
            decision = ("correct", "wrong", "drop")[(number + pair) % 3]
            view = workspace.review.open_pair(pair)
            workspace.review.decide(
                pair, view.verdict.version, decision, author=f"curator {number % 3}"
            )
            confirmed.setdefault(pair, []).append(decision)
    return confirmed


@pytest.mark.nightly
@pytest.mark.parametrize("goes_on", [True, False])
def test_verdicts_beside_a_stopped_worker_are_kept(
    workspace: Workspace, sizes: Sizes, monkeypatch: pytest.MonkeyPatch, goes_on: bool
) -> None:
    """Before it is stopped, meanwhile, and after it was continued or ended."""
    sizes(MOST_LOOKS_AT_A_STOPPED=600 if goes_on else 3)
    confirmed = judge_all(workspace, 1)
    with monkeypatch.context() as patch:
        stopped = after_the_first_batch(patch, psutil.Process.suspend)
        job = scored_in_background(workspace)
        until = time.monotonic() + PATIENCE
        while not stopped and time.monotonic() < until:
            judge = judge_all(workspace, 1)
            for pair, decisions in judge.items():
                confirmed[pair] += decisions
        for pair, decisions in judge_all(workspace, 5).items():
            confirmed[pair] += decisions
        if goes_on:
            assert psutil.Process(stopped[0].ident).status() == psutil.STATUS_STOPPED
            psutil.Process(stopped[0].ident).resume()
        assert workspace.jobs.background.wait(PATIENCE)
    ended = workspace.jobs.job(job)
    kept = stored(workspace)
    if goes_on:
        assert (ended.status, len(kept)) == ("done", PAIRS)
    else:
        assert (ended.status, ended.failure) == ("failed", WorkerEnded.__name__)
        check_resumed(workspace, kept)
    with workspace.store.reading() as session:
        acts = session.execute(select(Verdict.pair_id, Verdict.decision).order_by(Verdict.id))
        history: dict[int, list[str | None]] = {}
        for pair, decision in acts:
            history.setdefault(pair, []).append(decision)
    assert history == confirmed
    for pair, decisions in confirmed.items():
        assert workspace.review.open_pair(pair).verdict.decision == decisions[-1]


def kill(process: psutil.Process) -> None:
    process.send_signal(signal.SIGKILL)


def crash(process: psutil.Process) -> None:
    process.send_signal(signal.SIGSEGV)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("disturb", "kind", "message"),
    [
        (kill, OutOfMemory, "terminated by the system, probably for lack of memory"),
        (crash, WorkerEnded, "SIGSEGV"),
        (psutil.Process.suspend, WorkerEnded, "stopped by another program.*for 3 seconds"),
    ],
)
def test_a_worker_that_ends_or_stops_is_reported(
    workspace: Workspace,
    sizes: Sizes,
    monkeypatch: pytest.MonkeyPatch,
    disturb: Callable[[psutil.Process], None],
    kind: type[TracedError],
    message: str,
) -> None:
    sizes(MOST_LOOKS_AT_A_STOPPED=3)
    with monkeypatch.context() as patch:
        disturbed = after_the_first_batch(patch, disturb)
        with pytest.raises(kind, match=message) as ended:
            workspace.jobs.score(1, suggestions=False, devices=ANOTHER)
    disturbed[0].join(PATIENCE)
    assert not disturbed[0].is_alive()
    assert "Finished work is kept" in explain(ended.value)
    check_resumed(workspace, stored(workspace))


def ask_for_too_much(engine: Engine, batch: Sequence[PairCaption], opened: Opened) -> int:
    """A task that is refused memory. With none left at all, Python could not start threads."""
    process = psutil.Process()
    limit = process.memory_info().vms + 2**28
    process.rlimit(psutil.RLIMIT_AS, (limit, limit))
    return torch.zeros(2**30).numel()


def test_a_worker_that_gets_no_memory_is_reported(workspace: Workspace, tmp_path: Path) -> None:
    engine = workspace.engines.of_dataset(1)
    with (
        OnlyOthers(engine, tmp_path / "pairs", ANOTHER) as others,
        pytest.raises(OutOfMemory, match="needs more than there is") as ended,
    ):
        list(others.map(ask_for_too_much, [[PairCaption(1, "none.webp", "a dog")]]))
    assert "Finished work is kept" in explain(ended.value)
