"""Export page: choose what to keep, see the counts, write."""

from collections.abc import Callable
from typing import Any, NamedTuple

import gradio as gr
from markupsafe import Markup

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.errors import SettingsError
from backend.jobs.reports import ExportChoice, ExportCounts, SelectionReport, TwoStage
from backend.jobs.two_stage_selection import CRITERIA
from backend.operations.export import ExportOptions
from backend.review.queue_form import as_query
from backend.workspace import Workspace
from traced_ui.jobs import Started, begin, job_html, starting, table
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, explained, note, wired
from traced_ui.option_fields import field
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import render


class Fields(NamedTuple):
    """The fields that choose what to write: their components, or what is entered in them."""

    use_threshold: Any
    threshold: Any
    by_claim: Any
    wrong_claims: Any
    dropped: Any
    abstract: Any
    unsure: Any
    decided_only: Any
    unconfirmed: Any
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
                value=ExportOptions.model_fields["format"].default, label="Format",
                elem_id="export-format",
            )  # fmt: skip
            out = field(
                ExportOptions, "out", "Output folder", elem_id="export-out",
                placeholder=f"a new folder in {workspace.jobs.exports}",
            )  # fmt: skip
            overwrite = field(
                ExportOptions, "overwrite",
                "Replace an earlier export of mine there (other files are kept)",
            )  # fmt: skip
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
    start.click(starting(page.begin), inputs, [job_id, status, timer], **QUIET)
    timer.tick(**wired(page.watch, [job_id], [status, timer, card], status))
    return page.counts, [dataset, *fields], [counts]


def _fields() -> tuple[Fields, gr.HTML]:
    """The fields, and the place below them for what a selection keeps and loses."""
    fields: dict[str, Any] = {}
    fields["use_threshold"] = gr.Checkbox(
        False, label="Leave out undecided pairs that look wrong", elem_id="use-threshold"
    )
    fields["threshold"] = field(
        ExportChoice, "drop_above", "… above this chance of error", value=0.9, elem_id="threshold"
    )
    fields["by_claim"] = gr.Checkbox(
        False, label="… but of captions of several claims, only the claims above it",
        elem_id="threshold-by-claim",
    )  # fmt: skip
    fields["wrong_claims"] = field(ExportChoice, "wrong_claims", "Claims decided wrong")
    fields["dropped"] = field(ExportChoice, "dropped", "Decided Remove")
    fields["abstract"] = field(ExportChoice, "abstract", "Decided Vague")
    fields["unsure"] = field(ExportChoice, "unsure", "Decided Not sure")
    fields["decided_only"] = field(ExportChoice, "decided_only")
    fields["unconfirmed"] = field(ExportChoice, "unconfirmed")
    fields["captions"] = field(
        ExportChoice, "captions", "Captions",
        [("as decided", "decided"), ("enriched where suggested", "enriched")],
        elem_id="export-captions",
        info="Suggested enrichments have not been checked; the column caption_kind says "
             "which captions they are.",
    )  # fmt: skip
    with gr.Accordion("Select for training, in two stages", open=False):
        fields["use_stages"] = gr.Checkbox(
            False, label="Keep only a selection of the undecided pairs", elem_id="use-stages"
        )
        fields["align"] = field(
            TwoStage, "align", "Stage one: share of pairs to keep, by highest match",
            elem_id="stage-align",
        )  # fmt: skip
        fields["keep"] = field(
            TwoStage, "keep", "Stage two: share of all pairs to keep", elem_id="stage-keep"
        )
        fields["by"] = field(
            TwoStage, "by", "Stage two by",
            [(criterion.title, name) for name, criterion in CRITERIA.items()],
            info="Our reading of Counterfactual Phrase Intervention. Decided pairs are not "
                 "counted; empty is not wrong.",
        )  # fmt: skip
        fields["least"] = field(
            TwoStage, "least_phrases", "Captions with fewer tested phrases go last",
            step=1, maximum=5,
            info="2 keeps generic captions of a single noun from being preferred.",
            elem_id="stage-least",
        )  # fmt: skip
        fields["tag"] = field(TwoStage, "tag", "Leave nothing out: write selected or left as a tag")
        selection = gr.HTML(elem_id="stage-links")
    fields["view"] = gr.Dropdown([], value=None, label="Only a saved view", elem_id="export-view")
    fields["queue"] = field(
        ExportOptions, "queue", "Only a queue", elem_id="export-queue",
        placeholder="split=train&p_error_to=0.5&review=all",
        info="The part of its address after the ?. Without review=…: undecided pairs.",
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
            choice = self._choice(dataset_id, fields).model_copy(update={"only": only})
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
            two_stage = {
                "align": fields.align, "keep": fields.keep, "by": fields.by,
                "least_phrases": fields.least, "tag": fields.tag,
                "split": self.workspace.review.split_for(dataset_id, None),
            }  # fmt: skip
        return ExportChoice.parsed(
            {
                "drop_above": fields.threshold if fields.use_threshold else None,
                "drop_claims_above": (
                    fields.threshold if fields.use_threshold and fields.by_claim else None
                ),
                "wrong_claims": fields.wrong_claims,
                "abstract": fields.abstract,
                "dropped": fields.dropped,
                "unsure": fields.unsure,
                "decided_only": fields.decided_only,
                "unconfirmed": fields.unconfirmed,
                "captions": fields.captions,
                "two_stage": two_stage,
            }
        )


def selection_html(report: SelectionReport, dataset_id: int) -> Markup:
    """Links to the queues of pairs kept and left out, and what the selection loses."""
    queues = [("see what stays", report.stays)]
    queues += [
        (f"see what would be left out: {words}", fields) for words, fields in report.goes.items()
    ]
    lines = [f"{report.kept} of {report.taking_part} undecided pairs are kept."]
    lines += report.losses_in_words()
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
    if counts.shortened:
        rows.append(["… of them without some claims", str(counts.shortened)])
    if counts.enriched:
        rows.append(["… of them with an enriched caption", str(counts.enriched)])
    if counts.tagged:
        rows.append(["… of them with a tag", str(counts.tagged)])
    rows += [[f"left out, {why}", str(n)] for why, n in sorted(counts.left_out.items())]
    rows.append(["all", str(counts.total)])
    caveat = note(counts.level_note, "warning") if counts.level_note else ""
    return table(["what happens to the pairs", "pairs"], rows, {1}) + caveat
