"""The folder of the images disappears during review (a disk is unplugged, a share is down) and
comes back: what needs no picture continues, what needs one reports it, and nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from backend.cli.doctor import examine
from backend.errors import ExportError
from backend.jobs.export_choice import ExportChoice
from backend.workspace import QueueFilter, Workspace
from research.scenes import demo
from tests.faults import scenarios
from tests.traced_ui.pages import Page
from traced_ui.server import create_app


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    demo.write(tmp_path / "pairs", 6, 0, 96, seed=3)
    opened = scenarios.workspace(tmp_path)
    opened.jobs.import_dataset(tmp_path / "pairs")
    yield opened
    opened.store.close()


def decided(workspace: Workspace) -> int:
    return workspace.summary(1).reviewed


def test_review_continues_and_export_waits_for_the_images(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder, away = tmp_path / "pairs", tmp_path / "unplugged"
    workspace.jobs.score(1, suggestions=False)
    page, client = Page(workspace), TestClient(create_app(workspace, 1))
    assert "<img" in str(page.shown["stage"])
    assert "Saved" in page.press("correct")
    pictures = [row.pair_id for row in workspace.review.queue_page(QueueFilter(1)).rows]

    folder.rename(away)
    assert "Saved" in page.press("drop")
    assert "There is no file" in str(page.shown["stage"])
    answer = client.get(f"/pictures/{pictures[-1]}")
    assert answer.status_code == 404
    assert str(tmp_path) not in answer.text
    assert "Saved" in page.press("correction", text="Something else altogether.")
    assert decided(workspace) == 3
    with pytest.raises(ExportError, match="Nothing was kept"):
        workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "imagefolder")
    assert not (tmp_path / "out").exists()
    assert any("is gone" in finding.message for finding in examine(workspace.settings).findings)

    away.rename(folder)
    assert "Saved" in page.press("drop")
    assert "<img" in str(page.shown["stage"])
    assert client.get(f"/pictures/{pictures[-1]}").status_code == 200
    report = workspace.jobs.export(1, ExportChoice(), tmp_path / "out", "imagefolder")
    assert (report.written, decided(workspace)) == (4, 4)  # two were dropped


def test_scoring_reports_each_missing_picture_and_catches_up(
    workspace: Workspace, tmp_path: Path
) -> None:
    images, away = tmp_path / "pairs/images", tmp_path / "unplugged"
    images.rename(away)
    for _ in range(2):  # the second run finds the same ones, and they are listed once
        report = workspace.jobs.score(1, suggestions=False)
        assert (report.scored, report.unreadable) == (0, 6)
        problems = workspace.problems(1)
        assert len({problem.file for problem in problems}) == len(problems) == 6
        assert {problem.kind for problem in problems} == {"unreadable image"}
    away.rename(images)
    report = workspace.jobs.score(1, suggestions=False)
    assert (report.scored, report.unreadable) == (6, 0)
    assert workspace.problems(1) == []
