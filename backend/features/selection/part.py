"""The choices of a selection for training on the page *Export*, with links to what it keeps and
leaves out, and what it loses."""

from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from backend.features.selection.options import TwoStage
from backend.features.selection.report import SelectionReport
from backend.features.selection.selecting import CRITERIA, report_on, split_for
from backend.review.queue_form import as_query
from backend.workspace import Workspace
from traced_ui.login import seen_by
from traced_ui.messages import QUIET
from traced_ui.option_fields import field
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import Choices, PagePart
from traced_ui.templates import renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))


def build(workspace: Workspace, dataset: PageDataset, above: gr.HTML) -> Choices:
    def read(
        dataset_id: int, is_used: bool, align: float, keep: float, by: str, least: int, tag: bool
    ) -> dict[str, Any]:
        if not is_used:
            return {"two_stage": None}
        return {
            "two_stage": {
                "align": align, "keep": keep, "by": by, "least_phrases": least, "tag": tag,
                "split": split_for(workspace.store, dataset_id, None),
            }
        }  # fmt: skip

    def links(dataset_id: int | None, request: gr.Request, is_used: bool, *values: Any) -> str:
        """Links to the pairs that a selection keeps and to those it leaves out."""
        if dataset_id is None or not is_used:
            return ""
        try:
            choice = TwoStage.parse(read(dataset_id, is_used, *values)["two_stage"])
            store = seen_by(workspace, request).store
            return selection_html(report_on(store, dataset_id, choice), dataset_id)
        except Exception:
            return ""  # the counts next to it already show the error

    with gr.Accordion("Select for training, in two stages", open=False):
        fields = _fields()
        html = gr.HTML(elem_id="stage-links")
    gr.on([each.change for each in fields], links, [dataset, *fields], [html], **QUIET)
    return Choices(fields, read)


def _fields() -> list[Any]:
    """As `read` takes them."""
    return [
        gr.Checkbox(
            False, label="Keep only a selection of the undecided pairs", elem_id="use-stages"
        ),
        field(
            TwoStage, "align", "Stage one: share of pairs to keep, by highest match",
            elem_id="stage-align",
        ),
        field(TwoStage, "keep", "Stage two: share of all pairs to keep", elem_id="stage-keep"),
        field(
            TwoStage, "by", "Stage two by",
            [(criterion.title, name) for name, criterion in CRITERIA.items()],
            info="Our reading of Counterfactual Phrase Intervention. Decided pairs are not "
                 "counted; empty is not wrong.",
        ),
        field(
            TwoStage, "least_phrases", "Captions with fewer tested phrases go last",
            step=1, maximum=5,
            info="2 keeps generic captions of a single noun from being preferred.",
            elem_id="stage-least",
        ),
        field(TwoStage, "tag", "Leave nothing out: write selected or left as a tag"),
    ]  # fmt: skip


def selection_html(report: SelectionReport, dataset_id: int) -> Markup:
    """Links to the queues of pairs kept and left out, and what the selection loses."""
    queues = [("see what stays", report.stays)]
    queues += [
        (f"see what would be left out: {words}", fields) for words, fields in report.goes.items()
    ]
    lines = [f"{report.kept} of {report.taking_part} undecided pairs{report.where} are kept."]
    lines += report.losses_in_words()
    lines += [f"Note: {line}." for line in report.notes]
    addresses = [(f"?dataset={dataset_id}&{as_query(fields)}", words) for words, fields in queues]
    return render_in("selection.html", queues=addresses, lines=lines)


PART = PagePart("export", build)
