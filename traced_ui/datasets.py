"""Add data: choose it, see what was found, choose a model, find its errors."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from backend.counts import count_of
from backend.engine.trajectories.depth import FIRST_STEP_ABOVE
from backend.jobs.measure_captions import computed_measures
from backend.operations.registry import OPERATIONS
from backend.workspace import Workspace
from traced_ui import models_page
from traced_ui.dataset_jobs import DatasetJobs, claims_message
from traced_ui.dataset_settings import short_path
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
from traced_ui.jobs import POLL, starting
from traced_ui.messages import QUIET, event_kwargs
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import build_parts
from traced_ui.templates import part, render

PAGE = 50
SCRIPT = Path(__file__).with_name("uploads.js")
CARDS_SCRIPT = Path(__file__).with_name("model_cards.js")
_BEING_TESTED = "Which models know these pictures is being tested …"
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
    """`fields`: the path, then the options in the order of `FIELDS`. `reading`: the progress of an
    import, or why it failed. `options`: the fold with what one that failed may ask for."""

    upload: gr.HTML
    fields: list[Any]
    start: gr.Button
    reading: gr.HTML
    options: gr.Accordion


class ScoringOptions(NamedTuple):
    """`fields`: which trajectories, whether to score unfamiliar images too, whether to add a
    captioner, what is a claim."""

    fields: list[Any]
    estimate: gr.Button


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page: a column of steps, each with its result; those below the first are there once
    there is a dataset."""
    jobs = DatasetJobs(workspace)
    with gr.Column(elem_id="add-data"):
        with _step("1 · Choose"):
            importing = _import_form(workspace)
        with _step("2 · What was found"), _locked_step() as contents_step:
            contents = gr.HTML(elem_id="dataset-found", padding=False)
            report = gr.HTML(elem_id="import-report", js_on_load=_IN_VIEW)
            first_look = gr.HTML(elem_id="first-look", padding=False)
            look_timer = gr.Timer(POLL, active=False)
            problems = gr.HTML(elem_id="problems")
            page = gr.Number(
                1, label="Page", precision=0, minimum=1, elem_id="problems-page", visible=False
            )
            build_parts("import", workspace, dataset, report)
        with _step("3 · Which model"), _locked_step() as model_step:
            cards = gr.HTML(
                part("plain", _BEING_TESTED), elem_id="model-cards",
                js_on_load=CARDS_SCRIPT.read_text(encoding="utf-8"),
            )  # fmt: skip
            download = gr.HTML(elem_id="model-status", js_on_load=_IN_VIEW)
            model = gr.Dropdown(
                [], value="", label="Or another one", allow_custom_value=True,
                elem_id="score-model",
                info="One from the page Model, a name on Hugging Face, or a folder.",
            )  # fmt: skip
            scoring = _scoring_options(workspace)
        with _step("4 · Find errors", "score-step"), _locked_step() as scoring_step:
            plan = gr.HTML(elem_id="score-plan", padding=False)
            find = gr.Button("Find errors", variant="primary", elem_id="score-start")
            status = gr.HTML(elem_id="job-status", js_on_load=_IN_VIEW + OPENS_REVIEW)
            with gr.Accordion("Measure more", open=False, elem_id="measure-more"), gr.Row():
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
    job_id = gr.State(None)
    timer = gr.Timer(1.0, active=False)
    locked_steps = [contents_step, model_step, scoring_step]

    def open_dataset(dataset_id: int | None) -> tuple[Any, ...]:
        """What was found in the dataset; the steps that follow."""
        steps = [gr.Column(visible=dataset_id is not None)] * len(locked_steps)
        if dataset_id is None:
            return "", gr.skip(), gr.skip(), *steps
        summary, claims = workspace.summary(dataset_id), workspace.review.claims_found(dataset_id)
        found = f"'{summary.name}': {count_of(summary.total)} from {short_path(summary.source)}."
        message = f"{found} {claims_message(claims)}."
        text = part("plain", " ".join([message, *claims.constants]))
        start = gr.Button(f"Find errors in {summary.name}")
        return text, start, gr.Dropdown(value=claims.division), *steps

    def left_out(dataset_id: int | None, number: float | None) -> tuple[str, Any]:
        """A page of the rows left out."""
        count = workspace.summary(dataset_id).problems if dataset_id is not None else 0
        if dataset_id is None or not count:
            return "", gr.Number(visible=False)
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
        return html, gr.Number(visible=count > PAGE)

    reading_job = [job_id, importing.reading, timer]
    importing.upload.select(starting(jobs.follow_upload), None, reading_job, **QUIET)
    importing.start.click(starting(jobs.begin_import), importing.fields, reading_job, **QUIET)
    cards.select(jobs.choose, [model], [model], **QUIET)
    cards.download(starting(jobs.download), None, [job_id, download, timer], **QUIET)
    scoring_inputs, scoring_job = [dataset, model, *scoring.fields], [job_id, status, timer]
    scoring.estimate.click(starting(jobs.scoring("estimate")), scoring_inputs, scoring_job, **QUIET)
    find.click(starting(jobs.scoring("score")), scoring_inputs, scoring_job, **QUIET)
    for kind, button in measurements.items():
        button.click(starting(jobs.starting(kind)), [dataset], scoring_job, **QUIET)
    for name, button in of_plugins.items():
        start = starting(jobs.starting("measure", measure=name))
        button.click(start, [dataset], scoring_job, **QUIET)
    job_outputs = [importing.reading, report, download, status, timer, dataset, cards, plan]
    tick = event_kwargs(
        jobs.watch, [job_id, dataset, model], [*job_outputs, importing.options], status
    )
    timer.tick(**tick)
    looking = {"fn": jobs.first_look, "inputs": [dataset], "outputs": [first_look, look_timer]}
    look_timer.tick(**looking, **QUIET)
    gr.on(None, **looking, **QUIET)
    report.change(**looking, **QUIET)
    outputs = [contents, find, scoring.fields[-1], *locked_steps]
    gr.on(None, open_dataset, [dataset], outputs, **QUIET)
    gr.on(None, left_out, [dataset, page], [problems, page], **QUIET)
    importing.reading.change(steps_below, [importing.reading, dataset], locked_steps, **QUIET)
    report.change(open_dataset, [dataset], outputs, **QUIET)
    report.change(left_out, [dataset, page], [problems, page], **QUIET)
    # The cards and the plan come in one answer: of two answers the one of the model before may come
    # last.
    gr.on(None, jobs.offer, [dataset], [cards, plan, model], **QUIET)
    model.change(jobs.cards_and_plan, [dataset, model], [cards, plan], **QUIET)


def steps_below(reading: str, dataset_id: int | None) -> list[Any]:
    """The steps below the first one: hidden after an import that failed, because they are of
    another dataset. `reading`: what the page says about the import; "" once it is done."""
    if not reading:
        return [gr.Column(visible=dataset_id is not None)] * 3
    return [gr.Column(visible=False) if 'role="alert"' in reading else gr.skip()] * 3


@contextmanager
def _step(title: str, elem_id: str | None = None) -> Iterator[None]:
    with gr.Column(elem_classes="step", elem_id=elem_id):
        gr.Markdown(f"### {title}")
        yield


def _locked_step() -> gr.Column:
    """The content of a step that follows once there is a dataset."""
    return gr.Column(visible=False, elem_classes="unlocked")


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
    with gr.Row(elem_id="import-way"):
        path = gr.Textbox(
            label="Or a folder or file on this machine",
            placeholder="/data/my-images  or  /data/captions.csv",
            info="A folder of images with metadata.jsonl or metadata.csv, or with a .txt beside "
            "each; or a CSV, TSV, JSONL or Parquet file with an image path and a caption per row.",
            elem_id="import-path",
        )
        start = gr.Button("Import", variant="primary", elem_id="import-start")
    reading = gr.HTML(elem_id="import-status", js_on_load=_IN_VIEW, padding=False)
    with gr.Accordion("Options", open=False, elem_id="import-options") as options:
        with gr.Row():
            names = [
                _field(name)
                for name in ("name", "image_column", "caption_column", "id_column",
                             "split_column", "writer_column", "image_root")
            ]  # fmt: skip
        with gr.Row():
            unusual = [
                _field("writer", "A person or a model, where rows do not say.", "blip"),
                _field("encoding", "Of a CSV, TSV or JSONL file that is not UTF-8.", "cp1252"),
                _field("delimiter", "Of a CSV file: type it, or tab, comma, semicolon.", ";"),
                _field("subset", "Of a Hugging Face dataset that has several.", "en"),
                _field("language", "Where captions are in several languages.", "en"),
                _field("lists", "What a list in the caption column holds.", "tokens"),
                _field(
                    "captions_separator",
                    "Between several captions in one cell or text; or tab, newline.",
                    "|",
                ),
                _field(
                    "caption_fields", "Where a picture has several: their names, or all.", "all"
                ),
                _field("answers", "Of conversations: captions are descriptions, or all.", "all"),
                _field("question", "Of conversations: its answers are captions.", "Describe"),
            ]
        ticks = [
            _tick(NO_IDS, "Ids are derived from image and caption."),
            _tick(INSIDE, "Of a folder of images: XMP, IPTC, EXIF or PNG text."),
            _tick(UNCAPTIONED, "Scoring suggests one; it is exported once somebody accepts it."),
            _tick(PER_LINE, "Of a .txt beside an image, or in a tar. Otherwise the text is one."),
            _tick(TAKE, "Of a dataset imported before: captions and splits as they are now; they "
                        "are scored again, and verdicts stay. Otherwise changes are counted."),
            _tick(HIDE, "Of a dataset imported before: from queue and export, until their rows "
                        "come back. Nothing is deleted."),
        ]  # fmt: skip
    by_id = {field.elem_id: field for field in (*names, *unusual, *ticks)}
    fields = [path, *(by_id[element(name)] for name in FIELDS)]
    return ImportForm(upload, fields, start, reading, options)


def _scoring_options(workspace: Workspace) -> ScoringOptions:
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
        constants = gr.Textbox(
            label="Parts of captions that say nothing about a picture", elem_id="score-constants",
            info="One a line, such as the trigger of a generator. Words that are none, openings of "
                 "language models and words of quality are found anyway.", lines=2,
        )  # fmt: skip
        judge_all = gr.Checkbox(
            label="Judge constant parts as well", value=False, elem_id="score-judge-constants"
        )
        estimate = gr.Button("How long will it take?", elem_id="estimate-start")
    fields = [trajectories, anyway, captioner, claims, constants, judge_all]
    return ScoringOptions(fields, estimate)


def _field(name: str, info: str | None = None, placeholder: str = "") -> gr.Textbox:
    return gr.Textbox(label=LABELS[name], info=info, placeholder=placeholder, elem_id=element(name))


def _tick(name: str, info: str) -> gr.Checkbox:
    return gr.Checkbox(False, label=TICKS[name], info=info, elem_id=element(name))
