"""Export page: choose what to keep, see the counts, write."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gradio as gr
from markupsafe import Markup

from backend.errors import SettingsError
from backend.jobs.reports import ExportChoice, ExportCounts, SelectionReport, TwoStage
from backend.jobs.selection_losses import losses
from backend.review.queue_form import as_query
from backend.workspace import Workspace
from traced_ui.jobs import job_html, table
from traced_ui.messages import explained, guarded, note
from traced_ui.templates import render

FORMATS = [
    ("Folder of images with metadata.jsonl", "imagefolder"),
    ("Images with a .txt beside each", "sidecar"),
    ("COCO captions (JSON) with images", "coco"),
    ("CSV with image paths", "csv"),
    ("JSONL with image paths", "jsonl"),
    ("Parquet with image paths", "parquet"),
    ("Parquet with the images", "parquet-images"),
    ("WebDataset shards (tar)", "webdataset"),
    ("Hugging Face dataset on disk", "huggingface"),
]


def build(
    workspace: Workspace, dataset: gr.Dropdown
) -> tuple[Callable[..., str], list[Any], list[Any]]:
    """Build the page; return what refreshes its counts: (function, inputs, outputs)."""
    with gr.Row():
        with gr.Column(scale=1, min_width=340):
            use_threshold = gr.Checkbox(
                False, label="Leave out undecided pairs that look wrong", elem_id="use-threshold"
            )
            threshold = gr.Slider(
                0, 1, 0.9, step=0.01, label="… above this probability of error", elem_id="threshold"
            )
            dropped = gr.Radio(["leave out", "tag"], value="leave out", label="Decided wrong: drop")
            abstract = gr.Radio(
                ["leave out", "tag", "keep"], value="leave out", label="Decided abstract"
            )
            unsure = gr.Radio(["keep", "leave out"], value="keep", label="Decided unsure")
            decided_only = gr.Checkbox(False, label="Only pairs with a verdict")
            captions = gr.Radio(
                [("as decided", "decided"), ("enriched where suggested", "enriched")],
                value="decided", label="Captions", elem_id="export-captions",
                info="Suggested enrichments have not been checked; the column caption_kind says "
                     "which captions they are.",
            )  # fmt: skip
            with gr.Accordion("Select for training, in two stages", open=False):
                use_stages = gr.Checkbox(
                    False,
                    label="Keep only a selection of the undecided pairs",
                    elem_id="use-stages",
                )
                align = gr.Slider(
                    0.05, 1, 0.7, step=0.01, label="Stage one: share of pairs to keep, by highest "
                                                   "match",
                    elem_id="stage-align",
                )  # fmt: skip
                keep = gr.Slider(
                    0.05, 1, 0.5, step=0.01, label="Stage two: share of all pairs to keep",
                    elem_id="stage-keep",
                )  # fmt: skip
                by = gr.Radio(
                    [("support (mean)", "support"), ("weakest phrase", "worst"),
                     ("match alone", "alignment"), ("specificity", "specificity"),
                     ("sampled at random", "random")],
                    value="support", label="Stage two by",
                    info="Our reading of Counterfactual Phrase Intervention. Decided pairs are not "
                         "counted; hollow is not wrong.",
                )  # fmt: skip
                least = gr.Slider(
                    0, 5, 0, step=1, label="Captions with fewer tested phrases go last",
                    info="2 keeps generic captions of a single noun from being preferred.",
                    elem_id="stage-least",
                )  # fmt: skip
                tag = gr.Checkbox(False, label="Leave nothing out: write selected or left as a tag")
                see = gr.HTML(elem_id="stage-links")
            view = gr.Dropdown([], value=None, label="Only a saved view", elem_id="export-view")
            queue = gr.Textbox(
                label="Only a queue", placeholder="split=train&p_error_to=0.5&review=all",
                info="The part of its address after the ?. Without review=…: unreviewed pairs.",
                elem_id="export-queue",
            )  # fmt: skip
        with gr.Column(scale=1, min_width=340):
            counts = gr.HTML(elem_id="export-counts")
            format = gr.Dropdown(
                FORMATS, value="imagefolder", label="Format", elem_id="export-format"
            )
            out = gr.Textbox(
                str(workspace.default_export), label="Output folder (must not exist yet)",
                elem_id="export-out",
            )  # fmt: skip
            overwrite = gr.Checkbox(
                False, label="Replace an earlier export there (other files are kept)"
            )
            start = gr.Button("Export", variant="primary", elem_id="export-start")
            job_id = gr.State(None)
            status = gr.HTML(elem_id="export-status")
            card = gr.Markdown(elem_id="export-card")
            timer = gr.Timer(0.7, active=False)

    def choice_of(*given: Any) -> ExportChoice:
        use, limit, for_dropped, for_abstract, for_unsure, only, whose = given[:7]
        staged, first, second, way, fewest, as_tag, split = given[7:]
        return ExportChoice(
            drop_above=float(limit) if use else None,
            abstract=for_abstract,
            dropped=for_dropped,
            unsure=for_unsure,
            decided_only=bool(only),
            captions=str(whose),
            two_stage=(
                TwoStage(float(first), float(second), str(way), int(fewest), split, bool(as_tag))
                if staged
                else None
            ),
        )

    def with_split(dataset_id: int, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """The choices, with view and queue replaced by the split that a selection applies to."""
        return (*given[:-2], workspace.review.split_for(dataset_id, None))

    def count(dataset_id: int | None, *given: Any) -> str:
        if dataset_id is None:
            return ""
        try:
            choice = choice_of(*with_split(dataset_id, given))
            only = workspace.review.select_pairs(dataset_id, **pairs_of(*given[-2:]))
            made = replace(choice, only=only)
            return counts_html(workspace.jobs.export_counts(dataset_id, made))
        except Exception as error:
            return note(explained(error), "error")

    @guarded
    def begin(
        dataset_id: int | None, form: str, folder: str, over: bool, *given: Any
    ) -> tuple[int, str, Any]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        if not folder.strip():
            raise SettingsError("Enter the output folder.")
        started = workspace.jobs.start(
            "export", dataset_id, choice=choice_of(*with_split(dataset_id, given)),
            out=folder.strip(), format=form, overwrite=bool(over), **pairs_of(*given[-2:]),
        )  # fmt: skip
        return started, job_html(workspace.jobs.job(started)), gr.Timer(active=True)

    @guarded
    def watch(started: int | None) -> tuple[Any, Any, Any]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), gr.skip()
        job = workspace.jobs.job(started)
        if job.status in ("queued", "running"):
            return job_html(job), gr.skip(), gr.skip()
        if job.status == "failed":
            return job_html(job), gr.Timer(active=False), gr.skip()
        body = str(job.result["card"]).split("---", 2)[-1]
        return render("export/written.html", job=job), gr.Timer(active=False), body

    def views(dataset_id: int | None) -> Any:
        rows = workspace.review.saved_views(dataset_id) if dataset_id is not None else []
        return gr.Dropdown([("all pairs", ""), *((row.name, row.name) for row in rows)])

    def links(dataset_id: int | None, *given: Any) -> str:
        """Links to the pairs that are kept and to those left out."""
        if dataset_id is None or not given[7]:
            return ""
        try:
            chosen = choice_of(*with_split(dataset_id, given)).two_stage
            assert chosen is not None
            return selection_html(workspace.review.two_stage(dataset_id, chosen), dataset_id)
        except Exception:
            return ""  # the counts next to it already show the error

    choice = [use_threshold, threshold, dropped, abstract, unsure, decided_only, captions]
    choice += [use_stages, align, keep, by, least, tag, view, queue]
    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    changes = [dataset.change, *(component.change for component in choice)]
    gr.on(changes, count, [dataset, *choice], [counts], **options)
    gr.on(changes, links, [dataset, *choice], [see], **options)
    gr.on([dataset.change, view.focus], views, [dataset], [view], **options)
    dataset.change(lambda: (None, ""), None, [view, queue], **options)
    start.click(
        begin, [dataset, format, out, overwrite, *choice], [job_id, status, timer], **options
    )
    timer.tick(watch, [job_id], [status, timer, card], **options)
    return count, [dataset, *choice], [counts]


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
    if counts.enriched:
        rows.append(["… of them with an enriched caption", str(counts.enriched)])
    if counts.tagged:
        rows.append(["… of them with a tag", str(counts.tagged)])
    rows += [[f"left out, {why}", str(n)] for why, n in sorted(counts.left_out.items())]
    rows.append(["all", str(counts.total)])
    return table(["what happens to the pairs", "pairs"], rows, {1})
