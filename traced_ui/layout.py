"""Header, tabs, and what all pages share."""

from typing import Any

import gradio as gr

from backend.workspace import Workspace
from traced_ui import datasets, export, playground, retrain, review
from traced_ui.jobs import job_html
from traced_ui.messages import note


def build(workspace: Workspace, dataset_id: int | None) -> gr.Blocks:
    """The whole app. `dataset_id`: the dataset that is open at first."""
    with gr.Blocks(
        title="TRACED Curator", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)
    ) as blocks:
        with gr.Row(elem_id="traced-header"):
            gr.HTML("<h1>TRACED Curator<small>find, understand and fix wrong captions</small></h1>")
            dataset = gr.Dropdown(
                datasets.choices(workspace), value=dataset_id, label="Dataset", container=False,
                elem_id="traced-dataset", min_width=260, scale=0,
            )  # fmt: skip
        running = gr.HTML(elem_id="traced-running")
        with gr.Tabs():
            with gr.Tab("Review", id="review"):
                review.build(workspace, dataset, blocks)
            with gr.Tab("Playground", id="playground"):
                playground.build(workspace, dataset)
            with gr.Tab("Datasets", id="datasets"):
                datasets.build(workspace, dataset)
            with gr.Tab("Retrain", id="retrain"):
                retrain.build(workspace, dataset)
            with gr.Tab("Export", id="export") as export_tab:
                refresh = export.build(workspace, dataset)
        export_tab.select(*refresh, api_visibility="private", show_progress="hidden")
        _strip(workspace, blocks, running)
    return blocks


def _strip(workspace: Workspace, blocks: gr.Blocks, running: gr.HTML) -> None:
    """Work in the background, told on every page; when it ends, once that it has."""
    seen = gr.State(0)

    def look(before: int) -> tuple[Any, int]:
        jobs = workspace.running_jobs()
        if jobs:
            return "".join(job_html(job) for job in jobs), len(jobs)
        if before:
            return note(
                "Done. Choose the dataset again, or reload, to see the new order.", "good"
            ), 0
        return gr.skip(), 0

    timer = gr.Timer(2.0)
    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    timer.tick(look, [seen], [running, seen], **options)
    blocks.load(look, [seen], [running, seen], **options)
