"""Captioners: two of them over all their pictures, each difference a queue."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup
from pydantic import TypeAdapter

from backend.features.side_by_side.comparison import (
    ALIKE,
    FEWEST,
    SideBySide,
    captioners_in,
    scored_since,
)
from backend.review.queue_form import as_query
from backend.workspace import Workspace
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.templates import renderer_of

_render = renderer_of(Path(__file__).with_name("templates"))
_REPORT = TypeAdapter(SideBySide)
_FIELDS = tuple(SideBySide.__dataclass_fields__)


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page."""
    comparison = gr.HTML(elem_id="side-by-side", padding=False)
    with gr.Row(elem_id="side-by-side-names", visible=False) as fields:
        first = gr.Dropdown([], label="One captioner", elem_id="side-by-side-first")
        second = gr.Dropdown([], label="The other", elem_id="side-by-side-second")
    with gr.Row(elem_id="side-by-side-decide", elem_classes="decision-row"):
        start = gr.Button("Compare", variant="primary", visible=False, elem_id="side-by-side-start")
    status = gr.HTML(elem_id="side-by-side-status")

    def draw(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        if dataset_id is None:
            return "", gr.Row(visible=False), gr.skip(), gr.skip(), gr.Button(visible=False)
        visible = seen_by(workspace, request)
        column, names = captioners_in(visible.store, dataset_id)
        report = last_report(visible, dataset_id)
        since = scored_since(visible.store, dataset_id, report) if report is not None else []
        captioners = list(names)
        pair = (report.first, report.second) if report is not None else tuple(captioners[:2])
        choices = (
            gr.Dropdown(captioners, value=name if name in names else None)
            for name in (*pair, None, None)[:2]
        )
        has_two = len(names) > 1  # otherwise there is nothing to choose, and nothing to start
        return (
            report_html(report, column, names, dataset_id, since), gr.Row(visible=has_two),
            *choices, gr.Button(visible=has_two, interactive=has_two),
        )  # fmt: skip

    redraw = (draw, [dataset], [comparison, fields, first, second, start])
    start_by(start, status, workspace, dataset, "side-by-side", redraw, first=first, second=second)
    gr.on(None, *redraw, **QUIET)


def last_report(workspace: Workspace, dataset_id: int) -> SideBySide | None:
    """What the newest comparison found, as the reader of the workspace may see it."""
    result = workspace.jobs.last_result("side-by-side", dataset_id)
    if "likelier" not in result:
        return None
    return _REPORT.validate_python({name: result[name] for name in _FIELDS if name in result})


def report_html(
    report: SideBySide | None,
    column: str,
    names: dict[str, int],
    dataset_id: int,
    since: Sequence[str] = (),
) -> Markup:
    """`since`: those of the two whose captions have been scored since."""
    if report is None:
        return _render("side_by_side.html", report=None, column=column, names=names)
    queues = [
        (report.first, report.likelier.second, _address(dataset_id, report.first_tag)),
        (report.second, report.likelier.first, _address(dataset_id, report.second_tag)),
    ]
    missing = [(report.first, report.without_first), (report.second, report.without_second)]
    return _render(
        "side_by_side.html", report=report, queues=queues, missing=missing, since=since,
        fewest=FEWEST, alike=round(ALIKE * 100), share=report.share(report.likelier),
        second_share=report.share(report.likelier, of_first=False),
        judged_share=report.share(report.judged),
        judged_second=report.share(report.judged, of_first=False),
    )  # fmt: skip


def _address(dataset_id: int, tag: str) -> str:
    """The queue of its captions; "" without a tag."""
    return f"?dataset={dataset_id}&{as_query({'tag': tag, 'review': 'all'})}" if tag else ""


PAGE = AddedPage(Page("side-by-side", "Captioners"), "Improve", build)
