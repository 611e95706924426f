"""Add data: faults of captions are found after an import, shown with their queues, and mended."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from backend.features.lint import part
from backend.review.views import EditedCaption, EditView
from backend.workspace import Workspace
from tests.features.lint.test_lint import FAULTY, written
from tests.hostile.markup import check_escaping
from traced_ui.page_dataset import PageDataset

NOBODY: Any = SimpleNamespace(username=None)


@pytest.fixture
def dataset(workspace: Workspace, tmp_path: Path) -> int:
    return workspace.jobs.import_dataset(written(tmp_path / "faulty")).dataset_id


def handlers_of(workspace: Workspace, dataset: int) -> dict[str, Any]:
    with gr.Blocks() as blocks:
        part.build(workspace, PageDataset(str(dataset)), gr.HTML())
    return {event.name: event.fn for event in blocks.fns.values()}


def test_an_import_is_followed_by_a_check(workspace: Workspace, dataset: int) -> None:
    with gr.Blocks() as blocks:
        report = gr.HTML()
        part.build(workspace, PageDataset(str(dataset)), report)
    follows = [event.fn for event in blocks.fns.values() if (report._id, "change") in event.targets]
    (start,) = follows
    job = start(NOBODY, dataset)[0]
    assert workspace.jobs.background.wait(200)
    assert workspace.jobs.job(job).kind == "lint"
    assert workspace.jobs.job(job).status == "done"


def test_faults_are_shown_with_their_queues_and_examples(
    workspace: Workspace, dataset: int
) -> None:
    handlers = handlers_of(workspace, dataset)
    html, which, row, undo = handlers["draw"](dataset, NOBODY)
    assert "No fault" not in html, "nobody has looked yet"
    assert not row.visible
    assert not undo.visible, "there is nothing to undo"
    workspace.jobs.start("lint", dataset)
    assert workspace.jobs.background.wait(200)
    html, which, row, undo = handlers["draw"](dataset, NOBODY)
    assert {name for _, name in which.choices} == {"markup", "loop"}
    assert row.visible
    assert f'href="?dataset={dataset}&amp;' in html
    assert "tag=lint%3A+same+caption" in html
    assert "A dog &amp;amp; a cat" in html, "as it is, escaped"
    assert FAULTY["german"] in html
    assert "in a park" in html


def test_a_mend_is_previewed_applied_and_undone(workspace: Workspace, dataset: int) -> None:
    workspace.jobs.run("lint", dataset)
    handlers = handlers_of(workspace, dataset)
    before = workspace.review.tags(dataset)["lint: markup"]

    def text() -> str:
        queue = workspace.review.filter_of(dataset, {"tag": "lint: markup", "review": "all"})
        (row,) = workspace.review.queue_page(queue).rows
        return row.corrected_caption or row.caption

    assert "1 caption would change" in handlers["preview"](dataset, "markup", NOBODY)
    assert (before, text()) == (1, "A dog &amp; a cat")
    assert "1 caption changed" in handlers["mend_faults"](dataset, "markup", NOBODY)
    assert text() == "A dog & a cat"
    assert handlers["draw"](dataset, NOBODY)[3].visible
    handlers["undone"](dataset, NOBODY)
    assert not handlers["draw"](dataset, NOBODY)[3].visible
    assert text() == "A dog &amp; a cat"
    assert "cannot be mended" in handlers["preview"](dataset, "refusal", NOBODY)


def faults_html(text: str) -> str:
    fault = {
        "name": text, "about": text, "pairs": 2, "can_be_mended": True, "address": f"?tag={text}",
        "examples": [text],
    }  # fmt: skip
    return part.render_in(
        "lint_faults.html", looked_at=9, shared=[("end", text)], faults=[fault], languages=text
    )


def fix_preview_html(text: str) -> str:
    example = EditedCaption(7, text, text, f"{text} b")
    return part.fix_preview_html(EditView(3, 9, 1, 2, 3, 4, 0, (example,)), False)


def test_hostile_text_is_escaped() -> None:
    check_escaping("lint_faults.html", faults_html)
    check_escaping("lint_mend.html", fix_preview_html)
