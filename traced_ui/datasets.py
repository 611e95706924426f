"""Datasets page: import and score a dataset, and list rows that could not be imported."""

import functools
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from backend.engine.trajectories.depth import ALL, FIRST_STEP_ABOVE
from backend.errors import SettingsError
from backend.jobs.pace import duration
from backend.workspace import Workspace
from traced_ui import dataset_settings, models_page
from traced_ui.import_form import FIELDS, INSIDE, LABELS, NO_IDS, TICKS, element, import_options
from traced_ui.jobs import job_html, table
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


def choices(workspace: Workspace) -> list[tuple[str, int]]:
    return [
        (f"{summary.name} ({summary.total} pairs)", summary.id) for summary in workspace.datasets()
    ]


def build(workspace: Workspace, dataset: gr.Dropdown) -> tuple[Any, ...]:
    """Build the page; return what lists the models to score with: (function, inputs, outputs)."""
    overview = gr.HTML(elem_id="datasets-overview")
    with gr.Row():
        with gr.Column(scale=1, min_width=340):
            gr.Markdown("### Import a dataset")
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
            with gr.Accordion(
                "Names and columns (detected automatically if left empty)", open=False
            ):
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
                    _tick(NO_IDS, "Ids are derived from image and caption."),
                    _tick(INSIDE, "Of a folder of images: XMP, IPTC, EXIF or PNG text."),
                ]  # fmt: skip
            start = gr.Button("Import", variant="primary", elem_id="import-start")
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
            plan = gr.Button("How long will scoring take?", elem_id="estimate-start")
            score = gr.Button("Score the dataset chosen above", elem_id="score-start")
            specificity = gr.Button(
                "Measure how specific its captions are", elem_id="specificity-start"
            )
            measure = gr.Button("Measure the support of its phrases", elem_id="support-start")
            quality = gr.Button("Check the quality of its pictures", elem_id="quality-start")
            job_id = gr.State(None)
            status = gr.HTML(elem_id="import-status")
            timer = gr.Timer(1.0, active=False)
        with gr.Column(scale=2, min_width=400):
            dataset_settings.build(workspace, dataset, choices, overview)
            gr.Markdown("### Rows left out")
            page = gr.Number(1, label="Page", precision=0, minimum=1, elem_id="problems-page")
            problems = gr.HTML(elem_id="problems")

    def shown(dataset_id: int | None, number: float | None) -> tuple[str, str]:
        return overview_html(workspace), problems_html(workspace, dataset_id, int(number or 1))

    @guarded
    def begin(path: str | None, *given: str | bool | None) -> tuple[int, str, Any]:
        source = (path or "").strip()
        if not source:
            raise SettingsError("Enter a folder or a file first.")
        entered = dict(zip(FIELDS, given, strict=True))
        started = workspace.jobs.start("import", None, path=source, **import_options(entered))
        return started, job_html(workspace.jobs.job(started)), gr.Timer(active=True)

    @guarded
    def uploaded(event: gr.EventData) -> tuple[int, str, Any]:
        """Follow the import job started by an upload, like that of any other import."""
        started = int(dict(event._data or {}).get("job", 0))
        return started, job_html(workspace.jobs.job(started)), gr.Timer(active=True)

    def begin_job(kind: str, dataset_id: int | None) -> tuple[int, str, Any]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        started = workspace.jobs.start(kind, dataset_id)
        return started, job_html(workspace.jobs.job(started)), gr.Timer(active=True)

    @guarded
    def begin_scoring(
        dataset_id: int | None,
        model: str | None,
        which: str,
        anyway: bool,
        request: gr.Request,
    ) -> tuple[int, str, Any]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        if model:
            model = models_page.chosen_by(workspace, model, request)
        chosen = scoring_arguments(which, anyway)
        if model:
            is_here = workspace.models.view(model).is_here
            chosen |= {"model": model} if is_here else {"model": model, "download": True}
        started = workspace.jobs.start("score", dataset_id, **chosen)
        return started, job_html(workspace.jobs.job(started)), gr.Timer(active=True)

    @guarded
    def begin_estimate(
        dataset_id: int | None,
        model: str | None,
        which: str,
        anyway: bool,
        request: gr.Request,
    ) -> tuple[int, str, Any]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        chosen = scoring_arguments(which, anyway)
        if model:
            chosen["model"] = models_page.chosen_by(workspace, model, request)
        started = workspace.jobs.start("estimate", dataset_id, **chosen)
        return started, job_html(workspace.jobs.job(started)), gr.Timer(active=True)

    def offered(dataset_id: int | None, chosen: str | None = None) -> Any:
        """`chosen`: the choice on the page, which is kept."""
        last = workspace.jobs.last_scoring(dataset_id) if dataset_id is not None else None
        asks = last is not None and last.asks_for_model
        return models_offered(workspace, dataset_id, asks, chosen or "")

    @guarded
    def watch(started: int | None, dataset_id: int | None) -> tuple[Any, ...]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), gr.skip(), gr.skip(), gr.skip()
        job = workspace.jobs.job(started)
        if job.status in ("queued", "running"):
            return job_html(job), gr.skip(), gr.skip(), gr.skip(), gr.skip()
        message = job_html(job)
        choice: Any = gr.skip()
        update: Any = gr.Dropdown(choices=choices(workspace))
        if job.status == "done" and job.kind == "import":
            imported = job.result
            message = imported_note(imported)
            update = gr.Dropdown(choices=choices(workspace), value=imported["dataset_id"])
            if imported.get("asks_for_model"):
                choice = models_offered(workspace, imported["dataset_id"], asks=True)
        elif job.asks_for_model:
            choice = models_offered(workspace, job.dataset_id, asks=True)
        if job.status == "done" and job.kind == "support":
            message = note(support_message(job.result), "good")
        if job.status == "done" and job.kind == "estimate":
            message = note(estimate_message(job.result), "good")
        if job.status == "done" and job.kind == "score" and (left := depth_message(job.result)):
            message = note(left, "good")
        if job.status == "done" and job.kind == "quality":
            message = note(quality_message(job.result), "good")
        return message, gr.Timer(active=False), update, overview_html(workspace), choice

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    fields = [path, *usual, *unusual]
    upload.select(uploaded, None, [job_id, status, timer], **options)
    start.click(begin, fields, [job_id, status, timer], **options)
    plan.click(
        begin_estimate, [dataset, model, trajectories, anyway], [job_id, status, timer], **options
    )
    score.click(
        begin_scoring, [dataset, model, trajectories, anyway], [job_id, status, timer], **options
    )
    for button, kind in (
        (specificity, "specificity"), (measure, "support"), (quality, "quality"),
    ):  # fmt: skip
        begin_this = guarded(functools.partial(begin_job, kind))
        button.click(begin_this, [dataset], [job_id, status, timer], **options)
    timer.tick(watch, [job_id, dataset], [status, timer, dataset, overview, model], **options)
    dataset.input(offered, [dataset], [model], **options)
    gr.on([dataset.change, page.change], shown, [dataset, page], [overview, problems], **options)
    context = gr.context.Context.root_block
    if context is not None:
        context.load(shown, [dataset, page], [overview, problems], **options)
        context.load(offered, [dataset], [model], **options)
    return offered, [dataset, model], [model]


def _field(name: str, info: str | None = None, placeholder: str = "") -> gr.Textbox:
    return gr.Textbox(label=LABELS[name], info=info, placeholder=placeholder, elem_id=element(name))


def _tick(name: str, info: str) -> gr.Checkbox:
    return gr.Checkbox(False, label=TICKS[name], info=info, elem_id=element(name))


def models_offered(
    workspace: Workspace, dataset_id: int | None, asks: bool, chosen: str = ""
) -> gr.Dropdown:
    """The models to score the dataset with. `asks`: its model does not know its pictures, so
    another one is selected unless one is already `chosen`."""
    pairs = workspace.review.counts(dataset_id).total if dataset_id is not None else 0
    value = chosen
    if asks and not chosen:
        value = models_page.suggested(workspace.models.listed())
    return gr.Dropdown(choices=models_page.choices(workspace, pairs), value=value)


def support_message(result: dict[str, Any]) -> str:
    """The result of a support job, with its notes."""
    message = (
        f"{result['computed']} pairs measured now; {result['untested']} have no phrase to test. "
        "Order the queue by 'hollow first'."
    )
    return " ".join([message, *(f"Note: {line}." for line in result["notes"])])


def scoring_arguments(trajectories: str, anyway: bool) -> dict[str, Any]:
    """The arguments of a job that scores or estimates, without the defaults."""
    chosen: dict[str, Any] = {"anyway": True} if anyway else {}
    return chosen | ({"trajectories": trajectories} if trajectories else {})


def depth_message(result: dict[str, Any]) -> str:
    """A note on trajectories with only their first step; "" if all are whole."""
    if result.get("trajectories", ALL) == ALL:
        return ""
    return (
        f"Every pair has the first step of its trajectory, which is enough to rank them; "
        f"{result['completed']:,} whole trajectories were computed. Others are computed when a "
        "pair is opened."
    )


def estimate_message(result: dict[str, Any]) -> str:
    """The time, disk space and memory that scoring needs, as estimated by a job."""
    copies = f" and {result['copies']:,} noisy copies" if result["copies"] else ""
    corrected = result.get("suggestions", 0)
    corrections = f", corrections of about {corrected:,} of them" if corrected else ""
    if result.get("trajectories", ALL) != ALL:
        corrections += f", whole trajectories for {result['whole']:,}, first steps for the others"
    return (
        f"About {duration(result['seconds'])} for {result['pairs']:,} pairs{copies}{corrections}, "
        f"{result['disk'] / 1e6:,.0f} MB of disk and {result['memory'] / 1e9:.1f} GB of memory, "
        f"measured on {result['measured']} pairs."
    )


def quality_message(result: dict[str, Any]) -> str:
    """The image quality issues counted by a job."""
    issues = ", ".join(
        f"{count:,} {issue.replace('_', ' ')}" for issue, count in result["issues"].items() if count
    )
    unreadable = f" {result['unreadable']:,} cannot be read." if result["unreadable"] else ""
    return (
        f"{result['measured']:,} pictures checked now. In the whole dataset: "
        f"{issues or 'no issues'}.{unreadable} Filter the queue by 'Picture is'."
    )


def imported_note(imported: dict[str, Any]) -> Markup:
    """The result of an import, including what it decided automatically (encoding, ids)."""
    message = (
        f"'{imported['name']}': {imported['added']} pairs added, {imported['already_there']} were "
        f"there already, {imported['problems']} rows were left out. Score it next."
    )
    notes = [for_page(line) for line in imported["notes"]]
    if imported.get("asks_for_model"):
        notes.append(
            f"{imported['asks_for_model']} Choose another under 'Model to score with', then score."
        )
    return note(" ".join((message, *notes)), "warning" if imported["problems"] or notes else "good")


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
