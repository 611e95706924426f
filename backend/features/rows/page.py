"""Rows: captions that stand beside the pictures of other rows, and moving them back."""

from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup
from pydantic import TypeAdapter

from backend.features.rows.mending import latest_report
from backend.features.rows.report import RowsReport
from backend.workspace import Workspace
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.templates import renderer_of

_render = renderer_of(Path(__file__).with_name("templates"))
_REPORT = TypeAdapter(RowsReport)
_FIGURES = tuple(RowsReport.__dataclass_fields__)
#: Findings that the page lists.
_LISTED = 50


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page."""
    findings = gr.HTML(elem_id="rows-findings", padding=False)
    with gr.Row(elem_id="rows-decide", elem_classes="decision-row"):
        look = gr.Button("Compare rows", variant="primary", elem_id="rows-look")
        mend = gr.Button("Move captions back", visible=False, elem_id="rows-mend")
    status = gr.HTML(elem_id="rows-status")
    changes = gr.HTML(elem_id="rows-changes", padding=False)
    is_mending = gr.State(value=True)

    def draw(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        if dataset_id is None:
            return "", "", gr.Button(interactive=False), gr.Button(visible=False)
        report = last_report(seen_by(workspace, request), dataset_id)
        can_mend = report is not None and report.can_mend
        first, second = ("secondary", "primary") if can_mend else ("primary", "secondary")
        buttons = (
            gr.Button(interactive=True, variant=first),
            gr.Button(visible=can_mend, variant=second),
        )
        return report_html(report), changes_html(report), *buttons

    redraw = (draw, [dataset], [findings, changes, look, mend])
    start_by(look, status, workspace, dataset, "rows", redraw)
    start_by(mend, status, workspace, dataset, "rows", redraw, mend=is_mending)
    gr.on(None, *redraw, **QUIET)


def last_report(workspace: Workspace, dataset_id: int) -> RowsReport | None:
    """What the latest search found; with the examples of a job that has found the same, if the
    reader of the workspace may see it."""
    latest = latest_report(workspace.store, dataset_id)
    for kind in ("rows", "first-look"):
        result = workspace.jobs.last_result(kind, dataset_id)
        if "findings" in result:
            figures = {name: result[name] for name in _FIGURES if name in result}
            report = _REPORT.validate_python(figures)
            if latest is None or _found_the_same(report, latest):
                return report
    return latest


def _found_the_same(report: RowsReport, latest: RowsReport) -> bool:
    """`latest`: the stored one, which does not have all findings if there are very many."""
    is_same = report.is_first_look == latest.is_first_look
    return is_same and report.findings[: len(latest.findings)] == latest.findings


def report_html(report: RowsReport | None) -> Markup:
    return _render("rows.html", report=report, most=_LISTED)


def changes_html(report: RowsReport | None) -> Markup:
    return _render("rows_changes.html", report=report)


PAGE = AddedPage(
    Page("rows", "Rows"), "Improve", build, styles=Path(__file__).with_name("rows.css")
)
