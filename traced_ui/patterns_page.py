"""Blind spots: what a writer of captions gets wrong more often than the rest, each a queue."""

from typing import Any

import gradio as gr
from pydantic import TypeAdapter

from backend.jobs.writer_patterns import BlindSpot, PatternsReport
from backend.review.queue_form import as_query
from backend.workspace import Workspace
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import render

_REPORT = TypeAdapter(PatternsReport)
_FIGURES = tuple(PatternsReport.__dataclass_fields__)


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page."""
    spots = gr.HTML(elem_id="blind-spots", padding=False)
    with gr.Row(elem_id="patterns-decide"):
        look = gr.Button("Look for blind spots", variant="primary", elem_id="patterns-start")
    status = gr.HTML(elem_id="patterns-status")

    def drawn(dataset_id: int | None, request: gr.Request) -> str:
        if dataset_id is None:
            return ""
        return spots_html(seen_by(workspace, request), dataset_id)

    redraw = (drawn, [dataset], [spots])
    start_by(look, status, workspace, dataset, "patterns", redraw)
    gr.on(None, *redraw, **QUIET)


def spots_html(workspace: Workspace, dataset_id: int) -> str:
    """What the newest search found, as the reader of the workspace may see it, by writer; before
    the first one, what it looks for."""
    last = workspace.jobs.last("patterns", dataset_id)
    result = last.result if last is not None and last.status == "done" else {}
    report = None
    if "spots" in result:
        report = _REPORT.validate_python({name: result[name] for name in _FIGURES})
    writers: dict[str, list[dict[str, Any]]] = {}
    tags = workspace.review.tags(dataset_id)
    for spot in report.spots if report is not None else ():
        writers.setdefault(spot.pattern.writer, []).append(
            {"spot": spot, "pairs": tags.get(spot.tag), "address": _address(dataset_id, spot)}
        )
    return render("blind_spots.html", report=report, writers=writers)


def _address(dataset_id: int, spot: BlindSpot) -> str:
    """The queue of its captions."""
    return f"?dataset={dataset_id}&{as_query({'tag': spot.tag, 'review': 'all'})}"
