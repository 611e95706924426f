"""Datasets: bring one in, score it, and see which rows stayed out."""

from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.workspace import Workspace
from traced_ui.jobs import job_html, table
from traced_ui.messages import guarded, note

PAGE = 50


def choices(workspace: Workspace) -> list[tuple[str, int]]:
    return [
        (f"{summary.name} ({summary.total} pairs)", summary.id) for summary in workspace.datasets()
    ]


def build(workspace: Workspace, dataset: gr.Dropdown) -> None:
    overview = gr.HTML(elem_id="datasets-overview")
    with gr.Row():
        with gr.Column(scale=1, min_width=340):
            gr.Markdown("### Bring a dataset in")
            path = gr.Textbox(
                label="Folder or file on this machine",
                placeholder="/data/my-images  or  /data/captions.csv",
                info="A folder of images with metadata.jsonl or metadata.csv, or a CSV, TSV, JSONL "
                "or Parquet file with an image path and a caption a row.",
                elem_id="import-path",
            )
            with gr.Accordion("Names and columns (found by themselves if left empty)", open=False):
                name = gr.Textbox(label="Name in this app")
                image_column = gr.Textbox(label="Column with image paths")
                caption_column = gr.Textbox(label="Column with captions")
                id_column = gr.Textbox(label="Column with ids")
                split_column = gr.Textbox(label="Column with splits")
                root = gr.Textbox(label="Folder that image paths are relative to")
            start = gr.Button("Import", variant="primary", elem_id="import-start")
            score = gr.Button("Score the dataset chosen above", elem_id="score-start")
            job_id = gr.State(None)
            status = gr.HTML(elem_id="import-status")
            timer = gr.Timer(1.0, active=False)
        with gr.Column(scale=2, min_width=400):
            gr.Markdown("### Rows that stayed out")
            page = gr.Number(1, label="Page", precision=0, minimum=1, elem_id="problems-page")
            problems = gr.HTML(elem_id="problems")

    def shown(dataset_id: int | None, number: float | None) -> tuple[str, str]:
        return overview_html(workspace), problems_html(workspace, dataset_id, int(number or 1))

    @guarded
    def begin(*given: str | None) -> tuple[int, str, Any]:
        texts = [(text or "").strip() or None for text in given]
        if texts[0] is None:
            raise SettingsError("Give the folder or the file first.")
        names = ("path", "name", "image_column", "caption_column", "id_column", "split_column",
                 "image_root")  # fmt: skip
        started = workspace.start_job("import", None, **dict(zip(names, texts, strict=True)))
        return started, job_html(workspace.job(started)), gr.Timer(active=True)

    @guarded
    def begin_scoring(dataset_id: int | None) -> tuple[int, str, Any]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        started = workspace.start_job("score", dataset_id)
        return started, job_html(workspace.job(started)), gr.Timer(active=True)

    @guarded
    def watch(started: int | None, dataset_id: int | None) -> tuple[Any, ...]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), gr.skip(), gr.skip()
        job = workspace.job(started)
        if job.status in ("queued", "running"):
            return job_html(job), gr.skip(), gr.skip(), gr.skip()
        told = job_html(job)
        update: Any = gr.Dropdown(choices=choices(workspace))
        if job.status == "done" and job.kind == "import":
            imported = job.result
            told = note(
                f"'{imported['name']}': {imported['added']} pairs added, "
                f"{imported['already_there']} were there already, {imported['problems']} rows "
                "stayed out. Score it next.",
                "warning" if imported["problems"] else "good",
            )
            update = gr.Dropdown(choices=choices(workspace), value=imported["dataset_id"])
        return told, gr.Timer(active=False), update, overview_html(workspace)

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    columns = [path, name, image_column, caption_column, id_column, split_column, root]
    start.click(begin, columns, [job_id, status, timer], **options)
    score.click(begin_scoring, [dataset], [job_id, status, timer], **options)
    timer.tick(watch, [job_id, dataset], [status, timer, dataset, overview], **options)
    gr.on([dataset.change, page.change], shown, [dataset, page], [overview, problems], **options)
    context = gr.context.Context.root_block
    if context is not None:
        context.load(shown, [dataset, page], [overview, problems], **options)


def overview_html(workspace: Workspace) -> str:
    rows = [
        [s.name, str(s.total), str(s.scored), str(s.reviewed), str(s.errors_found), str(s.problems),
         s.source]
        for s in workspace.datasets()
    ]  # fmt: skip
    if not rows:
        return '<div class="empty"><h2>No dataset yet</h2>Bring one in below.</div>'
    head = ["dataset", "pairs", "scored", "reviewed", "errors found", "rows left out", "source"]
    return table(head, rows, {1, 2, 3, 4, 5})


def problems_html(workspace: Workspace, dataset_id: int | None, page: int) -> str:
    if dataset_id is None:
        return ""
    count = workspace.summary(dataset_id).problems
    if not count:
        return note("Every row went in.", "good")
    listed = workspace.problems(dataset_id, PAGE * (max(1, page) - 1), PAGE)
    rows = [[p.file, "" if p.row is None else str(p.row), p.kind, p.message] for p in listed]
    pages = (count + PAGE - 1) // PAGE
    return f"<p>{count} rows, page {page} of {pages}</p>" + table(
        ["file", "row", "what", "what is wrong and what to do"], rows, {1}
    )
