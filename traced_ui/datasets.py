"""Add data: choose it, check what was found, find its errors."""

from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from backend.engine.trajectories.depth import FIRST_STEP_ABOVE
from backend.jobs.measure_captions import computed_measures
from backend.operations.registry import OPERATIONS
from backend.workspace import Workspace
from traced_ui import models_page
from traced_ui.dataset_jobs import DatasetJobs, claims_message
from traced_ui.import_form import (
    FIELDS,
    HIDE,
    INSIDE,
    LABELS,
    NO_IDS,
    PER_LINE,
    TAKE,
    TICKS,
    UNCAPTIONED,
    element,
)  # fmt: skip
from traced_ui.jobs import starting
from traced_ui.messages import QUIET, wired
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import part, render

PAGE = 50
SCRIPT = Path(__file__).with_name("uploads.js")
_NOTHING_CHOSEN = (
    "What was found is listed here: pairs, and rows that cannot be read, with the reason."
)
#: In the browser: a result, or the progress of what was started, is scrolled into view.
_IN_VIEW = """let said = "";
watch("value", () => {
  const now = element.querySelector(".progress") ? "running" : element.textContent.trim();
  if (now && now !== said && element.checkVisibility()) {
    requestAnimationFrame(() => element.scrollIntoView({ block: "nearest" }));
  }
  said = now;
});
"""
#: In the browser: once the first pairs are ranked, Review opens.
OPENS_REVIEW = """let opened;
watch("value", () => {
  const job = element.querySelector("[data-ranked]")?.dataset;
  if (!job || job.job === opened) return;
  opened = job.job;
  const detail = `?dataset=${job.ranked}`;
  document.dispatchEvent(new CustomEvent("traced-visit", { detail }));
});"""

#: The choices of which pairs get whole trajectories, as `parse_depth` reads them.
TRAJECTORIES = {
    "": "Automatic",
    "all": "All pairs",
    "top:20%": "The most suspicious fifth",
    "first-step": "Only pairs that get corrections",
}

#: What a claim is, as `parse_division` reads it.
CLAIMS = {
    "": "Automatic",
    "auto": "Sentences or tags, by the form of each caption",
    "whole": "The whole caption",
    "sentences": "Each sentence",
    "tags": "Each tag",
}


class ImportForm(NamedTuple):
    """`fields`: the path, then the options in the order of `FIELDS`. `unusual`: the fold with the
    options that an import that failed may ask for."""

    upload: gr.HTML
    fields: list[Any]
    unusual: gr.Accordion
    start: gr.Button


class ScoringForm(NamedTuple):
    """`fields`: model, which trajectories, whether to score unfamiliar images too, whether to add
    a captioner, what is a claim. `claims_found`: what the captions consist of."""

    fields: list[Any]
    estimate: gr.Button
    start: gr.Button
    claims_found: gr.HTML


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what lists the models to score with: (function, inputs, outputs)."""
    jobs = DatasetJobs(workspace)
    with gr.Row(elem_id="add-data"):
        with gr.Column(min_width=320, elem_classes="step"):
            gr.Markdown("### 1 · Choose")
            importing = _import_form(workspace)
        with gr.Column(min_width=320, elem_classes="step"):
            gr.Markdown("### 2 · Check")
            report = gr.HTML(
                part("plain", _NOTHING_CHOSEN), elem_id="import-status", js_on_load=_IN_VIEW
            )
            problems = gr.HTML(elem_id="problems")
            page = gr.Number(
                1, label="Page", precision=0, minimum=1, elem_id="problems-page", visible=False
            )
        with gr.Column(min_width=320, elem_classes="step"):
            gr.Markdown("### 3 · Find errors")
            scoring = _scoring_form(workspace)
            job_id = gr.State(None)
            status = gr.HTML(elem_id="job-status", js_on_load=_IN_VIEW + OPENS_REVIEW)
            timer = gr.Timer(1.0, active=False)
            measurements = {
                kind: gr.Button(operation.button, elem_id=f"{kind}-start", size="sm")
                for kind, operation in OPERATIONS.items()
                if operation.button
            }
            of_plugins = {
                each.name: gr.Button(
                    f"Measure: {each.title}", elem_id=f"{each.name}-start", size="sm"
                )
                for each in computed_measures()
            }

    def divided(dataset_id: int | None) -> tuple[str, gr.Dropdown]:
        """What the captions consist of, and how they were divided when they were scored."""
        if dataset_id is None:
            return "", gr.Dropdown(value="")
        found_claims = workspace.review.claims_found(dataset_id)
        message = part("plain", f"{claims_message(found_claims)}.")
        return message, gr.Dropdown(value=found_claims.division)

    def shown(dataset_id: int | None, number: float | None) -> tuple[str, Any, gr.Button]:
        """A page of the rows left out; and of which dataset errors are found."""
        summary = workspace.summary(dataset_id) if dataset_id is not None else None
        label = "Find errors" if summary is None else f"Find errors in {summary.name}"
        find, count = gr.Button(label), summary.problems if summary is not None else 0
        if dataset_id is None or not count:
            return "", gr.Number(visible=False), find
        page_shown = max(1, int(number or 1))
        rows = [
            [problem.file, "" if problem.row is None else str(problem.row), problem.kind,
             problem.message]
            for problem in workspace.problems(dataset_id, PAGE * (page_shown - 1), PAGE)
        ]  # fmt: skip
        html = render(
            "problems.html", count=count, page=page_shown, pages=(count + PAGE - 1) // PAGE,
            rows=rows, dataset_id=dataset_id,
        )  # fmt: skip
        return html, gr.Number(visible=count > PAGE), find

    reading, scoring_job = [job_id, report, timer], [job_id, status, timer]
    model = scoring.fields[0]
    importing.upload.select(starting(jobs.uploaded), None, reading, **QUIET)
    importing.start.click(starting(jobs.begin_import), importing.fields, reading, **QUIET)
    scoring_inputs = [dataset, *scoring.fields]
    scoring.estimate.click(starting(jobs.scoring("estimate")), scoring_inputs, scoring_job, **QUIET)
    scoring.start.click(starting(jobs.scoring("score")), scoring_inputs, scoring_job, **QUIET)
    for kind, button in measurements.items():
        button.click(starting(jobs.starting(kind)), [dataset], scoring_job, **QUIET)
    for name, button in of_plugins.items():
        start = starting(jobs.starting("measure", measure=name))
        button.click(start, [dataset], scoring_job, **QUIET)
    updated = [report, status, timer, dataset, model, importing.unusual]
    timer.tick(**wired(jobs.watch, [job_id, model], updated, status))
    gr.on(None, divided, [dataset], [scoring.claims_found, scoring.fields[-1]], **QUIET)
    gr.on(None, shown, [dataset, page], [problems, page, scoring.start], **QUIET)
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
    with gr.Accordion("If the file is unusual", open=False, elem_id="import-unusual") as fold:
        unusual = [
            _field("encoding", "Of a CSV, TSV or JSONL file that is not UTF-8.", "cp1252"),
            _field("delimiter", "Of a CSV file: type it, or tab, comma, semicolon.", ";"),
            _field("subset", "Of a Hugging Face dataset that has several.", "en"),
            _field("language", "Where captions are in several languages.", "en"),
            _tick(NO_IDS, "Ids are derived from image and caption."),
            _tick(INSIDE, "Of a folder of images: XMP, IPTC, EXIF or PNG text."),
            _tick(UNCAPTIONED, "Scoring suggests one; it is exported once somebody accepts it."),
            _tick(PER_LINE, "Of a .txt beside an image, or in a tar. Otherwise the text is one."),
        ]  # fmt: skip
    with gr.Accordion("If the dataset was imported before", open=False, elem_id="import-again"):
        again = [
            _tick(TAKE, "Captions and splits as they are now; they are scored again, and verdicts "
                        "stay. Otherwise pairs stay as they are, and changes are counted."),
            _tick(HIDE, "From queue and export, until their rows come back. Nothing is deleted."),
        ]  # fmt: skip
    start = gr.Button("Read it", variant="primary", elem_id="import-start")
    by_id = {field.elem_id: field for field in (*usual, *unusual, *again)}
    return ImportForm(upload, [path, *(by_id[element(name)] for name in FIELDS)], fold, start)


def _scoring_form(workspace: Workspace) -> ScoringForm:
    model = gr.Dropdown(
        models_page.choices(workspace, 0), value="", elem_id="score-model",
        label="Model", allow_custom_value=True,
    )  # fmt: skip
    claims_found = gr.HTML(elem_id="score-claims-found", padding=False)
    start = gr.Button("Find errors", variant="primary", elem_id="score-start")
    with gr.Accordion("Options", open=False, elem_id="score-options"):
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
        claims = gr.Dropdown(
            [(label, name) for name, label in CLAIMS.items()], value="",
            label="What is judged on its own", elem_id="score-claims",
            info="Models judge short texts best. Automatic: as before, and of a new dataset by the "
                 "form of each caption.",
        )  # fmt: skip
        estimate = gr.Button("How long will it take?", elem_id="estimate-start")
    fields = [model, trajectories, anyway, captioner, claims]
    return ScoringForm(fields, estimate, start, claims_found)


def _field(name: str, info: str | None = None, placeholder: str = "") -> gr.Textbox:
    return gr.Textbox(label=LABELS[name], info=info, placeholder=placeholder, elem_id=element(name))


def _tick(name: str, info: str) -> gr.Checkbox:
    return gr.Checkbox(False, label=TICKS[name], info=info, elem_id=element(name))
