"""Blind spots: what a writer of captions gets wrong more often than the rest, each a queue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup
from pydantic import TypeAdapter

from backend.features.patterns.search import BlindSpot, PatternsReport, verdicts_missing
from backend.review.queue_form import as_query
from backend.workspace import Workspace
from traced_ui.jobs import IDLE, start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.templates import renderer_of

_render = renderer_of(Path(__file__).with_name("templates"))
_REPORT = TypeAdapter(PatternsReport)
_FIGURES = tuple(PatternsReport.__dataclass_fields__)


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page."""
    spots = gr.HTML(elem_id="blind-spots", padding=False)
    with gr.Row(elem_id="patterns-decide", elem_classes="decision-row"):
        look = gr.Button(
            "Look for blind spots", variant="primary", interactive=False, elem_id="patterns-start"
        )
        missing = gr.HTML(
            elem_id="patterns-missing", elem_classes="decision-missing", padding=False
        )
    # Verdicts that are given in another window enable the button.
    waiting = gr.Timer(IDLE, active=False)
    status = gr.HTML(elem_id="patterns-status")

    def draw(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        if dataset_id is None:
            return "", gr.Button(interactive=False), "", gr.Timer(active=False)
        visible_workspace = seen_by(workspace, request)
        verdicts, wrong = verdicts_missing(visible_workspace.store, dataset_id)
        is_enough = not (verdicts or wrong)
        report = last_report(visible_workspace, dataset_id)
        step = _render("to_go.html", verdicts=verdicts, wrong=wrong)
        is_empty = report is None and not is_enough  # the one step is to give verdicts
        return (
            report_html(report, visible_workspace.review.tags(dataset_id), dataset_id, step),
            gr.Button(visible=not is_empty, interactive=is_enough),
            "" if is_empty else step,
            gr.Timer(active=not is_enough),
        )

    redraw = (draw, [dataset], [spots, look, missing, waiting])
    start_by(look, status, workspace, dataset, "patterns", redraw)
    waiting.tick(*redraw, **QUIET)
    gr.on(None, *redraw, **QUIET)


def last_report(workspace: Workspace, dataset_id: int) -> PatternsReport | None:
    """What the newest search found, as the reader of the workspace may see it."""
    result = workspace.jobs.last_result("patterns", dataset_id)
    if "spots" not in result:
        return None
    return _REPORT.validate_python({name: result[name] for name in _FIGURES})


def report_html(
    report: PatternsReport | None,
    tags: Mapping[str, int],
    dataset_id: int,
    step: Markup | str = "",
) -> Markup:
    """What a search found, by writer; before the first one, what it looks for, and the `step` to
    it. `tags`: the number of pairs with each tag of the dataset."""
    writers: dict[str, list[dict[str, Any]]] = {}
    for spot in report.spots if report is not None else ():
        writers.setdefault(spot.pattern.writer, []).append(
            {"spot": spot, "pairs": tags.get(spot.tag), "address": _address(dataset_id, spot)}
        )
    return _render("blind_spots.html", report=report, writers=writers, step=step)


def _address(dataset_id: int, spot: BlindSpot) -> str:
    """The queue of its captions."""
    return f"?dataset={dataset_id}&{as_query({'tag': spot.tag, 'review': 'all'})}"


PAGE = AddedPage(Page("patterns", "Blind spots"), "Improve", build)
