"""The page *In place*: what it shows of a report, and when its buttons work."""

import re
from pathlib import Path

import gradio as gr

from backend.features.in_place import page
from backend.features.in_place.report import ApplyReport, LeftAlone
from backend.workspace import Workspace
from tests.features.in_place.conftest import captioned
from tests.features.in_place.test_apply import correct
from tests.hostile.markup import check_escaping
from tests.traced_ui.test_verdicts_to_go import functions_named
from traced_ui.page_dataset import PageDataset


def run_job(workspace: Workspace, **options: bool) -> None:
    job_id = workspace.jobs.start("apply", 1, **options)
    assert workspace.jobs.background.wait(60)
    assert workspace.jobs.job(job_id).status == "done"


def test_it_writes_only_what_it_has_shown(workspace: Workspace, tmp_path: Path) -> None:
    folder = captioned(tmp_path / "pairs", a="a dog")
    workspace.jobs.import_dataset(folder)
    correct(workspace, {"a dog": "a cat"})
    with gr.Blocks() as blocks:
        page.build(workspace, PageDataset("1"))
    draw = next(functions_named(blocks, "draw"))
    request = gr.Request(username=None)
    assert not draw(1, request)[2].interactive
    run_job(workspace, dry_run=True)
    markup, show, button, _ = draw(1, request)
    assert button.interactive
    assert (show.variant, button.variant) == ("secondary", "primary"), "what is next"
    assert "<ins>+a cat</ins>" in markup
    assert not draw(1, request)[3].visible, "nothing was written that could be put back"
    run_job(workspace)
    assert not draw(1, request)[2].interactive
    assert draw(1, request)[3].visible
    assert (folder / "a.txt").read_text() == "a cat"
    run_job(workspace, undo=True)
    assert not draw(1, request)[3].visible


def test_hostile_text_is_escaped() -> None:
    def draw(text: str) -> str:
        left_alone = (LeftAlone(text, text, 1),)
        report = ApplyReport(1, 3, 2, 1, left_alone, text, f"+{text}\n-{text}", is_dry_run=True)
        return page.report_html(report, text) + page.report_html(None, text)

    check_escaping("in_place.html", draw)


def decision_of(markup: str) -> list[str]:
    return re.findall(r'class="decision">(.*?)</p>', markup)


def test_a_source_that_is_not_written_is_said_before_a_press(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = captioned(tmp_path / "pairs", a="a dog")
    workspace.jobs.import_dataset(folder)
    with gr.Blocks() as blocks:
        page.build(workspace, PageDataset("1"))
    draw = next(functions_named(blocks, "draw"))
    folder.rename(tmp_path / "elsewhere")
    markup, *buttons = draw(1, gr.Request(username=None))
    assert not any(button.visible for button in buttons)
    assert str(folder) in markup
    assert decision_of(markup) != decision_of(page.report_html(None)), "that it can be written"
    of_curator, *_ = draw(1, gr.Request(username="Ada"))
    assert str(folder) not in of_curator
    assert 'class="hint"' in of_curator
