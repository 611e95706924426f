"""A dataset is deleted while others use it: they end with a clear message, and nothing is half
deleted."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from backend.errors import NotFound, TracedError
from backend.jobs.scoring.trajectory_stages import TrajectoryStage
from backend.review.charts import progress_of
from backend.settings import load_settings
from backend.workspace import ExportChoice, QueueFilter, Workspace
from research.bench.generated_store import generate
from research.scenes import demo
from tests.faults import scenarios
from tests.fixtures.sizes import Sizes

PAIRS = 400


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    generate(opened.store, PAIRS)
    yield opened
    opened.store.close()


def verdicts(workspace: Workspace, _folder: Path) -> Iterator[None]:
    for pair_id in range(1, PAIRS + 1):
        workspace.review.decide(pair_id, 0, "drop", author="Ada")
        yield


def pages(workspace: Workspace, _folder: Path) -> Iterator[None]:
    for _ in range(PAIRS):
        workspace.review.queue_page(QueueFilter(1))
        workspace.review.open_pair(1)
        progress_of(workspace.store, 1)
        yield


def exports(workspace: Workspace, folder: Path) -> Iterator[None]:
    for number in range(PAIRS):
        workspace.jobs.export(1, ExportChoice(), folder / str(number), "csv")
        yield


@pytest.mark.parametrize("uses", [verdicts, pages, exports])
def test_who_uses_a_deleted_dataset_is_told(
    workspace: Workspace, tmp_path: Path, uses: Callable[[Workspace, Path], Iterator[None]]
) -> None:
    problems: list[Exception] = []
    out, is_busy = tmp_path / "out", threading.Event()
    out.mkdir()
    confirmed = 0

    def run() -> None:
        nonlocal confirmed
        try:
            for _ in uses(workspace, out):
                confirmed += 1
                if confirmed == 3:
                    is_busy.set()
        except Exception as problem:
            problems.append(problem)

    user = threading.Thread(target=run)
    user.start()
    assert is_busy.wait(200)
    gone = workspace.delete_dataset(1)
    user.join()
    assert all(isinstance(problem, TracedError) for problem in problems), problems
    assert workspace.datasets() == []
    if uses is verdicts:
        assert gone.verdict_file
        assert Path(gone.verdict_file).read_text().count("\n") == confirmed
    if uses is exports:
        whole = [folder for folder in out.iterdir() if (folder / "SHA256SUMS").exists()]
        assert len(whole) == len(list(out.iterdir())) == confirmed


def test_a_dataset_is_not_deleted_while_a_job_works_on_it(workspace: Workspace) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(progress: object) -> dict[str, object]:
        begun.set()
        go_on.wait(200)
        return {}

    workspace.jobs.background.start("score", 1, work)
    assert begun.wait(200)
    with pytest.raises(TracedError, match="is working on"):
        workspace.delete_dataset(1)
    go_on.set()
    assert workspace.jobs.background.wait(200)
    workspace.delete_dataset(1)
    assert workspace.datasets() == []


@pytest.mark.nightly
def test_a_dataset_that_another_program_deletes_ends_its_scoring(
    tmp_path: Path, sizes: Sizes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a command does, beside which a page deletes it: commands are no jobs of the server."""
    demo.write(tmp_path / "pairs", 6, 0, 96, seed=8)
    scoring = scenarios.workspace(tmp_path)
    scoring.jobs.import_dataset(tmp_path / "pairs")
    sizes(BATCH=2)
    save, another = TrajectoryStage.save, scenarios.workspace(tmp_path)

    def saved(*arguments: Any) -> None:
        save(*arguments)
        if another.datasets():
            another.delete_dataset(1)

    monkeypatch.setattr(TrajectoryStage, "save", saved)
    with pytest.raises(NotFound, match="was deleted"):
        scoring.jobs.score(1, suggestions=False)
    with another.store.reading() as session:
        for table in ("datasets", "pairs", "runs", "trajectories", "import_problems"):
            assert session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0
    for workspace in (scoring, another):
        workspace.store.close()
