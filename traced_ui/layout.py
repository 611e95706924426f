"""Header, tabs, and what all pages share."""

from typing import Any

import gradio as gr

from backend.workspace import Workspace
from traced_ui import api, datasets, export, plane, playground, progress, retrain, review, team
from traced_ui.jobs import job_html
from traced_ui.markup import safe


def build(workspace: Workspace, dataset_id: int | None) -> gr.Blocks:
    """The whole app. `dataset_id`: the dataset that is open at first."""
    with gr.Blocks(
        title="TRACED Curator", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)
    ) as blocks:
        api.build(workspace)  # first, so that no listener of a page takes their names
        with gr.Row(elem_id="traced-header"):
            gr.HTML("<h1>TRACED Curator<small>find, understand and fix wrong captions</small></h1>")
            dataset = gr.Dropdown(
                datasets.choices(workspace), value=dataset_id, label="Dataset", container=False,
                elem_id="traced-dataset", min_width=260, scale=0,
            )  # fmt: skip
            who = gr.HTML(elem_id="traced-who")
        running = gr.HTML(elem_id="traced-running")
        with gr.Tabs():
            with gr.Tab("Review", id="review"):
                redraw = review.build(workspace, dataset, blocks)
            with gr.Tab("Playground", id="playground"):
                playground.build(workspace, dataset)
            with gr.Tab("Datasets", id="datasets"):
                datasets.build(workspace, dataset)
            with gr.Tab("Progress", id="progress") as progress_tab:
                look = progress.build(workspace, dataset)
            with gr.Tab("Plane", id="plane") as plane_tab:
                survey = plane.build(workspace, dataset)
            with gr.Tab("Team", id="team") as team_tab:
                gather = team.build(workspace, dataset)
            with gr.Tab("Retrain", id="retrain"):
                retrain.build(workspace, dataset)
            with gr.Tab("Export", id="export") as export_tab:
                refresh = export.build(workspace, dataset)
        for tab, shown in (
            (export_tab, refresh), (progress_tab, look), (plane_tab, survey), (team_tab, gather),
        ):  # fmt: skip
            tab.select(*shown, api_visibility="private", show_progress="hidden")
        for shown in (look, survey, gather):
            dataset.change(*shown, api_visibility="private", show_progress="hidden")
        _strip(workspace, blocks, running, redraw)

        def named(current: int | None, request: gr.Request) -> Any:
            """The dataset that the page's address names; its change opens queue and pair."""
            wanted = str(dict(request.query_params).get("dataset", ""))
            known = {summary.id for summary in workspace.datasets()}
            if not wanted.isdigit() or int(wanted) not in known or int(wanted) == current:
                return gr.skip()
            return int(wanted)

        def greeted(request: gr.Request) -> str:
            """Who has logged in, and the way out; nothing where nobody has to."""
            if not request.username:
                return ""
            return (
                f'<form method="post" action="/logout">{safe(request.username)} '
                '<button type="submit" class="t-button small">Log out</button></form>'
            )

        blocks.load(greeted, None, [who], api_visibility="private", show_progress="hidden")
        blocks.load(named, [dataset], [dataset], api_visibility="private", show_progress="hidden")
    return blocks


def _strip(
    workspace: Workspace, blocks: gr.Blocks, running: gr.HTML, redraw: tuple[Any, ...]
) -> None:
    """Work in the background, told on every page; as it goes on, the review page is drawn anew."""
    seen = gr.State("")
    ended = gr.State(0)

    def look(before: str, count: int) -> tuple[Any, str, int]:
        jobs = workspace.running_jobs()
        now = " ".join(f"{job.id}:{job.message}" for job in jobs)
        if now != before:
            count += 1  # a job has ended, or has reached its next stage
        if not jobs and not before:
            return gr.skip(), now, count
        return "".join(job_html(job) for job in jobs), now, count

    timer = gr.Timer(2.0)
    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    timer.tick(look, [seen, ended], [running, seen, ended], **options)
    blocks.load(look, [seen, ended], [running, seen, ended], **options)
    ended.change(*redraw, **options)
