"""Datasets page: import and score a dataset, and list rows that could not be imported."""

from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from backend.engine.trajectories.depth import FIRST_STEP_ABOVE
from backend.workspace import Workspace
from traced_ui import dataset_settings, models_page
from traced_ui.dataset_jobs import DatasetJobs, choices
from traced_ui.import_form import (
    FIELDS,
    HIDE,
    INSIDE,
    LABELS,
    NO_IDS,
    PER_LINE,
    TAKE,
    TICKS,
    element,
)  # fmt: skip
from traced_ui.jobs import table
from traced_ui.login import seen_by
from traced_ui.messages import guarded, note
from traced_ui.page_words import for_page
from traced_ui.templates import part, render

PAGE = 50
SCRIPT = Path(__file__).with_name("uploads.js")

#: The choices of which pairs get whole trajectories, as `parse_depth` reads them.
TRAJECTORIES = {
    "": "Automatic",
    "all": "All pairs",
    "top:20%": "The most suspicious fifth",
    "first-step": "Only pairs that get corrections",
}

#: The buttons that start a job about the chosen dataset: kind of job, label, CSS id.
MEASUREMENTS = (
    ("specificity", "Measure how specific its captions are", "specificity-start"),
    ("support", "Measure the support of its phrases", "support-start"),
    ("quality", "Check the quality of its pictures", "quality-start"),
)


class ImportForm(NamedTuple):
    """`fields`: the path, then the options in the order of `FIELDS`."""

    upload: gr.HTML
    fields: list[Any]
    start: gr.Button


class ScoringForm(NamedTuple):
    """`fields`: model, which trajectories, whether to score unfamiliar images too, whether to add
    a captioner."""

    fields: list[Any]
    estimate: gr.Button
    start: gr.Button


def build(workspace: Workspace, dataset: gr.Dropdown) -> tuple[Any, ...]:
    """Build the page; return what lists the models to score with: (function, inputs, outputs)."""
    jobs = DatasetJobs(workspace)
    overview = gr.HTML(elem_id="datasets-overview")
    with gr.Row():
        with gr.Column(scale=1, min_width=340):
            gr.Markdown("### Import a dataset")
            importing = _import_form(workspace)
            scoring = _scoring_form(workspace)
            measurements = {kind: gr.Button(label, elem_id=id) for kind, label, id in MEASUREMENTS}
            job_id = gr.State(None)
            status = gr.HTML(elem_id="import-status")
            timer = gr.Timer(1.0, active=False)
        with gr.Column(scale=2, min_width=400):
            changes = dataset_settings.build(workspace, dataset, choices)
            gr.Markdown("### Rows left out")
            page = gr.Number(1, label="Page", precision=0, minimum=1, elem_id="problems-page")
            problems = gr.HTML(elem_id="problems")

    def shown(dataset_id: int | None, number: float | None, request: gr.Request) -> tuple[str, str]:
        listed = overview_html(seen_by(workspace, request))
        return listed, problems_html(workspace, dataset_id, int(number or 1))

    def watch(started: int | None, chosen: str | None, request: gr.Request) -> tuple[Any, ...]:
        update = jobs.watch(started, chosen)
        listed = overview_html(seen_by(workspace, request)) if update.has_ended else gr.skip()
        return update.message, update.timer, update.dataset, listed, update.model

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    started, model = [job_id, status, timer], scoring.fields[0]
    importing.upload.select(guarded(jobs.uploaded), None, started, **options)
    importing.start.click(guarded(jobs.begin_import), importing.fields, started, **options)
    chosen = [dataset, *scoring.fields]
    scoring.estimate.click(guarded(jobs.begin_estimate), chosen, started, **options)
    scoring.start.click(guarded(jobs.begin_scoring), chosen, started, **options)
    for kind, button in measurements.items():
        button.click(guarded(jobs.starting(kind)), [dataset], started, **options)
    timer.tick(
        guarded(watch), [job_id, model], [status, timer, dataset, overview, model], **options
    )
    dataset.input(jobs.models, [dataset], [model], **options)
    shown_in = [overview, problems]
    gr.on([dataset.change, page.change], shown, [dataset, page], shown_in, **options)
    for change in changes:
        # In a request of its own, because the page may still be waiting for an earlier list.
        change.then(shown, [dataset, page], shown_in, **options)
    context = gr.context.Context.root_block
    if context is not None:
        context.load(shown, [dataset, page], shown_in, **options)
        context.load(jobs.models, [dataset], [model], **options)
    return jobs.models, [dataset, model], [model]


def _import_form(workspace: Workspace) -> ImportForm:
    upload = gr.HTML(
        render(
            "datasets/upload.html",
            limit=workspace.settings.upload_limit,
            fields={name: element(name) for name in FIELDS},
        ),
        elem_id="upload",
        js_on_load=SCRIPT.read_text(encoding="utf-8"),
    )
    path = gr.Textbox(
        label="Folder or file on this machine",
        placeholder="/data/my-images  or  /data/captions.csv",
        info="A folder of images with metadata.jsonl or metadata.csv, or a CSV, TSV, JSONL "
        "or Parquet file with an image path and a caption per row.",
        elem_id="import-path",
    )
    with gr.Accordion("Names and columns (detected automatically if left empty)", open=False):
        usual = [
            _field(name)
            for name in ("name", "image_column", "caption_column", "id_column",
                         "split_column", "image_root")
        ]  # fmt: skip
    with gr.Accordion("If the file is unusual", open=False, elem_id="import-unusual"):
        unusual = [
            _field("encoding", "Of a CSV, TSV or JSONL file that is not UTF-8.", "cp1252"),
            _field("delimiter", "Of a CSV file: type it, or tab, comma, semicolon.", ";"),
            _field("subset", "Of a Hugging Face dataset that has several.", "en"),
            _field("language", "Where captions are in several languages.", "en"),
            _tick(NO_IDS, "Ids are derived from image and caption."),
            _tick(INSIDE, "Of a folder of images: XMP, IPTC, EXIF or PNG text."),
            _tick(PER_LINE, "Of a .txt beside an image, or in a tar. Otherwise the text is one."),
        ]  # fmt: skip
    with gr.Accordion("If the dataset was imported before", open=False, elem_id="import-again"):
        again = [
            _tick(TAKE, "Captions and splits as they are now; they are scored again, and verdicts "
                        "stay. Otherwise pairs stay as they are, and changes are counted."),
            _tick(HIDE, "From queue and export, until their rows come back. Nothing is deleted."),
        ]  # fmt: skip
    start = gr.Button("Import", variant="primary", elem_id="import-start")
    return ImportForm(upload, [path, *usual, *unusual, *again], start)


def _scoring_form(workspace: Workspace) -> ScoringForm:
    model = gr.Dropdown(
        models_page.choices(workspace, 0), value="", elem_id="score-model",
        label="Model to score with", allow_custom_value=True,
    )  # fmt: skip
    trajectories = gr.Dropdown(
        [(label, name) for name, label in TRAJECTORIES.items()], value="",
        label="Whole trajectories", elem_id="score-trajectories",
        info="The first step is enough to rank pairs. Later steps explain and correct; "
             "they are computed when a pair is opened. Automatic: as before, and of a new "
             f"dataset with more than {FIRST_STEP_ABOVE:,} pairs only first steps.",
    )  # fmt: skip
    anyway = gr.Checkbox(
        label="Also score pictures that the model does not know", value=False,
        elem_id="score-anyway",
    )  # fmt: skip
    captioner = gr.Checkbox(
        label="With a captioner", value=False, elem_id="score-captioner",
        info=models_page.captioner_offer(workspace),
    )  # fmt: skip
    estimate = gr.Button("How long will scoring take?", elem_id="estimate-start")
    start = gr.Button("Score the dataset chosen above", elem_id="score-start")
    return ScoringForm([model, trajectories, anyway, captioner], estimate, start)


def _field(name: str, info: str | None = None, placeholder: str = "") -> gr.Textbox:
    return gr.Textbox(label=LABELS[name], info=info, placeholder=placeholder, elem_id=element(name))


def _tick(name: str, info: str) -> gr.Checkbox:
    return gr.Checkbox(False, label=TICKS[name], info=info, elem_id=element(name))


def overview_html(workspace: Workspace) -> str:
    listed = workspace.datasets()
    rows = [
        [s.name, str(s.total), str(s.scored), str(s.reviewed), str(s.errors_found), str(s.problems),
         s.source]
        for s in listed
    ]  # fmt: skip
    if not rows:
        return part("empty", "No dataset yet", "Import one below.")
    head = ["dataset", "pairs", "scored", "reviewed", "errors found", "rows left out", "source"]
    notes = [
        note(f"'{s.name}': most captions are not English, and phrases are known in English only.")
        for s in listed
        if s.other_languages
    ]
    return "".join([table(head, rows, {1, 2, 3, 4, 5}), *notes])


def problems_html(workspace: Workspace, dataset_id: int | None, page: int) -> str:
    if dataset_id is None:
        return ""
    count = workspace.summary(dataset_id).problems
    if not count:
        return note("All rows were imported.", "good")
    listed = workspace.problems(dataset_id, PAGE * (max(1, page) - 1), PAGE)
    rows = [[p.file, "" if p.row is None else str(p.row), p.kind, for_page(p.message)]
            for p in listed]  # fmt: skip
    pages = (count + PAGE - 1) // PAGE
    return render(
        "problems.html", count=count, page=page, pages=pages, rows=rows, dataset_id=dataset_id
    )
