"""Export page: choose what to keep, see the counts, write."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import gradio as gr
from markupsafe import Markup

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.errors import SettingsError
from backend.jobs.reports import ExportChoice, ExportCounts, SelectionReport, TwoStage
from backend.jobs.two_stage_selection import losses
from backend.review.queue_form import as_query
from backend.workspace import Workspace
from traced_ui.jobs import Started, begin, job_html, table
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, explained, guarded, note
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import render


class Fields(NamedTuple):
    """The fields that choose what to write: their components, or what is entered in them."""

    use_threshold: Any
    threshold: Any
    dropped: Any
    abstract: Any
    unsure: Any
    decided_only: Any
    captions: Any
    use_stages: Any
    align: Any
    keep: Any
    by: Any
    least: Any
    tag: Any
    view: Any
    queue: Any


def build(
    workspace: Workspace, dataset: PageDataset
) -> tuple[Callable[..., str], list[Any], list[Any]]:
    """Build the page; return what refreshes its counts: (function, inputs, outputs)."""
    with gr.Row():
        with gr.Column(scale=1, min_width=340):
            fields, selection = _fields()
        with gr.Column(scale=1, min_width=340):
            counts = gr.HTML(elem_id="export-counts")
            format = gr.Dropdown(
                [(export_format.label, name) for name, export_format in EXPORT_FORMATS.items()],
                value="imagefolder", label="Format", elem_id="export-format",
            )  # fmt: skip
            out = gr.Textbox(
                "", label="Output folder", placeholder=f"a new folder in {workspace.jobs.exports}",
                elem_id="export-out",
            )  # fmt: skip
            overwrite = gr.Checkbox(
                False, label="Replace an earlier export of mine there (other files are kept)"
            )
            start = gr.Button("Export", variant="primary", elem_id="export-start")
            job_id = gr.State(None)
            status = gr.HTML(elem_id="export-status")
            card = gr.Markdown(elem_id="export-card")
            timer = gr.Timer(0.7, active=False)

    page = ExportPage(workspace)
    changes = [component.change for component in fields]
    gr.on(changes, page.counts, [dataset, *fields], [counts], **QUIET)
    gr.on(changes, page.selection, [dataset, *fields], [selection], **QUIET)
    fields.view.focus(page.views, [dataset], [fields.view], **QUIET)
    inputs = [dataset, format, out, overwrite, *fields]
    start.click(guarded(page.begin), inputs, [job_id, status, timer], **QUIET)
    timer.tick(guarded(page.watch), [job_id], [status, timer, card], **QUIET)
    return page.counts, [dataset, *fields], [counts]


def _fields() -> tuple[Fields, gr.HTML]:
    """The fields, and the place below them for what a selection keeps and loses."""
    fields: dict[str, Any] = {}
    fields["use_threshold"] = gr.Checkbox(
        False, label="Leave out undecided pairs that look wrong", elem_id="use-threshold"
    )
    fields["threshold"] = gr.Slider(
        0, 1, 0.9, step=0.01, label="… above this chance of error", elem_id="threshold"
    )
    fields["dropped"] = gr.Radio(["leave out", "tag"], value="leave out", label="Decided Remove")
    fields["abstract"] = gr.Radio(
        ["leave out", "tag", "keep"], value="leave out", label="Decided Vague"
    )
    fields["unsure"] = gr.Radio(["keep", "leave out"], value="keep", label="Decided Not sure")
    fields["decided_only"] = gr.Checkbox(False, label="Only pairs with a verdict")
    fields["captions"] = gr.Radio(
        [("as decided", "decided"), ("enriched where suggested", "enriched")],
        value="decided", label="Captions", elem_id="export-captions",
        info="Suggested enrichments have not been checked; the column caption_kind says "
             "which captions they are.",
    )  # fmt: skip
    with gr.Accordion("Select for training, in two stages", open=False):
        fields["use_stages"] = gr.Checkbox(
            False, label="Keep only a selection of the undecided pairs", elem_id="use-stages"
        )
        fields["align"] = gr.Slider(
            0.05, 1, 0.7, step=0.01, label="Stage one: share of pairs to keep, by highest match",
            elem_id="stage-align",
        )  # fmt: skip
        fields["keep"] = gr.Slider(
            0.05, 1, 0.5, step=0.01, label="Stage two: share of all pairs to keep",
            elem_id="stage-keep",
        )  # fmt: skip
        fields["by"] = gr.Radio(
            [("backed by the picture (mean)", "support"), ("weakest phrase", "worst"),
             ("match alone", "alignment"), ("specificity", "specificity"),
             ("sampled at random", "random")],
            value="support", label="Stage two by",
            info="Our reading of Counterfactual Phrase Intervention. Decided pairs are not "
                 "counted; empty is not wrong.",
        )  # fmt: skip
        fields["least"] = gr.Slider(
            0, 5, 0, step=1, label="Captions with fewer tested phrases go last",
            info="2 keeps generic captions of a single noun from being preferred.",
            elem_id="stage-least",
        )  # fmt: skip
        fields["tag"] = gr.Checkbox(
            False, label="Leave nothing out: write selected or left as a tag"
        )
        selection = gr.HTML(elem_id="stage-links")
    fields["view"] = gr.Dropdown([], value=None, label="Only a saved view", elem_id="export-view")
    fields["queue"] = gr.Textbox(
        label="Only a queue", placeholder="split=train&p_error_to=0.5&review=all",
        info="The part of its address after the ?. Without review=…: unreviewed pairs.",
        elem_id="export-queue",
    )  # fmt: skip
    return Fields(**fields), selection


class ExportPage:
    """The handlers of the page; their last arguments are what is entered in the `Fields`."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def counts(self, dataset_id: int | None, request: gr.Request, *entered: Any) -> str:
        """What an export would write, as a table."""
        if dataset_id is None:
            return ""
        try:
            fields = Fields(*entered)
            visible_workspace = seen_by(self.workspace, request)
            only = visible_workspace.review.select_pairs(
                dataset_id, **pairs_of(fields.view, fields.queue)
            )
            choice = replace(self._choice(dataset_id, fields), only=only)
            return counts_html(visible_workspace.jobs.export_counts(dataset_id, choice))
        except Exception as error:
            return note(explained(error), "error")

    def selection(self, dataset_id: int | None, request: gr.Request, *entered: Any) -> str:
        """Links to the pairs that a selection keeps and to those it leaves out."""
        fields = Fields(*entered)
        if dataset_id is None or not fields.use_stages:
            return ""
        try:
            two_stage = self._choice(dataset_id, fields).two_stage
            assert two_stage is not None
            report = seen_by(self.workspace, request).review.two_stage(dataset_id, two_stage)
            return selection_html(report, dataset_id)
        except Exception:
            return ""  # the counts next to it already show the error

    def views(self, dataset_id: int | None) -> gr.Dropdown:
        """The saved views of the dataset, as choices."""
        rows = self.workspace.review.saved_views(dataset_id) if dataset_id is not None else []
        return gr.Dropdown([("all pairs", ""), *((row.name, row.name) for row in rows)])

    def begin(
        self,
        dataset_id: int | None,
        format: str,
        folder: str,
        overwrite: bool,
        request: gr.Request,
        *entered: Any,
    ) -> Started:
        """Start the export; returns the job's id, its status and the timer that follows it."""
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        fields = Fields(*entered)
        return begin(
            seen_by(self.workspace, request), "export", dataset_id, out=folder.strip(),
            choice=self._choice(dataset_id, fields), format=format, overwrite=bool(overwrite),
            **pairs_of(fields.view, fields.queue),
        )  # fmt: skip

    def watch(self, started: int | None, request: gr.Request | None = None) -> tuple[Any, Any, Any]:
        """The state of the job: status, timer, and the written data card."""
        if started is None:
            return gr.skip(), gr.Timer(active=False), gr.skip()
        job = seen_by(self.workspace, request).jobs.job(started)
        if not job.has_ended:
            return job_html(job), gr.skip(), gr.skip()
        if job.status != "done":
            return job_html(job), gr.Timer(active=False), gr.skip()
        body = str(job.result["card"]).split("---", 2)[-1]
        return render("export/written.html", job=job), gr.Timer(active=False), body

    def _choice(self, dataset_id: int, fields: Fields) -> ExportChoice:
        two_stage = None
        if fields.use_stages:
            split = self.workspace.review.split_for(dataset_id, None)
            two_stage = TwoStage(
                float(fields.align), float(fields.keep), str(fields.by), int(fields.least), split,
                bool(fields.tag),
            )  # fmt: skip
        return ExportChoice(
            drop_above=float(fields.threshold) if fields.use_threshold else None,
            abstract=fields.abstract,
            dropped=fields.dropped,
            unsure=fields.unsure,
            decided_only=bool(fields.decided_only),
            captions=str(fields.captions),
            two_stage=two_stage,
        )


def selection_html(report: SelectionReport, dataset_id: int) -> Markup:
    """Links to the queues of pairs kept and left out, and what the selection loses."""
    queues = [("see what stays", report.stays)]
    queues += [
        (f"see what would be left out: {words}", fields) for words, fields in report.goes.items()
    ]
    lines = [f"{report.kept} of {report.taking_part} undecided pairs are kept."]
    lines += losses(report)
    lines += [f"Note: {line}." for line in report.notes]
    addresses = [(f"?dataset={dataset_id}&{as_query(fields)}", words) for words, fields in queues]
    return render("export/selection.html", queues=addresses, lines=lines)


def pairs_of(view: str | None, queue: str | None) -> dict[str, Any]:
    """The pairs selected on the page, as arguments of `Review.select_pairs` and export jobs."""
    return {"view": view or None, "queue": (queue or "").strip()}


def counts_html(counts: ExportCounts) -> str:
    """A preview of an export, as a table."""
    rows = [["stay", str(counts.kept)]]
    rows.append(["… of them with a corrected caption", str(counts.corrected)])
    rows.append(["… of them edited in bulk", str(counts.edited)])
    if counts.enriched:
        rows.append(["… of them with an enriched caption", str(counts.enriched)])
    if counts.tagged:
        rows.append(["… of them with a tag", str(counts.tagged)])
    rows += [[f"left out, {why}", str(n)] for why, n in sorted(counts.left_out.items())]
    rows.append(["all", str(counts.total)])
    caveat = note(counts.level_note, "warning") if counts.level_note else ""
    return table(["what happens to the pairs", "pairs"], rows, {1}) + caveat
