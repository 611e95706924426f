"""Header, tabs, and elements shared by all pages."""

from typing import Any

import gradio as gr

from backend.review.queue_form import id_in
from backend.workspace import Workspace
from traced_ui import (
    api,
    dataset_jobs,
    datasets,
    export,
    models_page,
    near_duplicates,
    picture_map,
    plane,
    playground,
    progress,
    retrain,
    review,
    team,
)
from traced_ui.api_defaults import ApiBlocks
from traced_ui.jobs import build_button, build_drawer
from traced_ui.templates import render


def build(workspace: Workspace, dataset_id: int | None, mcp: bool = False) -> gr.Blocks:
    """Build the whole app. `dataset_id`: the dataset selected initially. `mcp`: see `api.build`."""
    with ApiBlocks(
        title="TRACED Curator", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)
    ) as blocks:
        # First, so that no page's listener takes an endpoint's name.
        api.build(workspace, queued=not mcp)
        with gr.Row(elem_id="traced-header"):
            gr.HTML(render("header.html"))
            dataset = gr.Dropdown(
                dataset_jobs.choices(workspace), value=dataset_id, label="Dataset", container=False,
                elem_id="traced-dataset", min_width=260, scale=0,
            )  # fmt: skip
            jobs_button = build_button()
            who = gr.HTML(elem_id="traced-who")
        with gr.Tabs():
            with gr.Tab("Review", id="review"):
                review.build(dataset, dataset_id)
            with gr.Tab("Playground", id="playground") as playground_tab:
                models_listed = playground.build(workspace, dataset)
            with gr.Tab("Datasets", id="datasets") as datasets_tab:
                models_to_score = datasets.build(workspace, dataset)
            with gr.Tab("Progress", id="progress") as progress_tab:
                look = progress.build(workspace, dataset)
            with gr.Tab("Plane", id="plane") as plane_tab:
                survey = plane.build(workspace, dataset)
            with gr.Tab("Map", id="map") as map_tab:
                charted = picture_map.build(workspace, dataset)
            with gr.Tab("Duplicates", id="duplicates") as duplicates_tab:
                copies = near_duplicates.build(workspace, dataset)
            with gr.Tab("Team", id="team") as team_tab:
                gather = team.build(workspace, dataset)
            with gr.Tab("Models", id="models") as models_tab:
                models_shown = models_page.build(workspace)
            with gr.Tab("Retrain", id="retrain"):
                retrain.build(workspace, dataset)
            with gr.Tab("Export", id="export") as export_tab:
                refresh = export.build(workspace, dataset)
        # A page opened by URL is drawn before the dataset named there is selected: the last
        # response must be the one for the dataset selected last.
        for tab, shown in (
            (progress_tab, look), (plane_tab, survey), (map_tab, charted),
            (duplicates_tab, copies), (team_tab, gather),
        ):  # fmt: skip
            gr.on(
                [tab.select, dataset.change], *shown, trigger_mode="always_last",
                api_visibility="private", show_progress="hidden",
            )  # fmt: skip
        for tab, listed in (
            (models_tab, models_shown), (playground_tab, models_listed),
            (datasets_tab, models_to_score),
        ):  # fmt: skip
            tab.select(*listed, api_visibility="private", show_progress="hidden")
        export_tab.select(*refresh, api_visibility="private", show_progress="hidden")
        build_drawer(workspace, blocks, jobs_button)

        def named(current: int | None, request: gr.Request) -> Any:
            """The dataset named in the page's URL; the review page opens its queue and pair."""
            wanted = str(dict(request.query_params).get("dataset", ""))
            known = {summary.id for summary in workspace.datasets()}
            dataset_id = id_in(wanted)
            return dataset_id if dataset_id in known - {current} else gr.skip()

        def greeted(request: gr.Request) -> str:
            """The logged-in user and the logout link; empty without login."""
            if not request.username:
                return ""
            return render("logged_in.html", name=request.username)

        blocks.load(greeted, None, [who], api_visibility="private", show_progress="hidden")
        blocks.load(named, [dataset], [dataset], api_visibility="private", show_progress="hidden")
    return blocks
