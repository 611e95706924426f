"""The bar at the top, the pages below it, what lies over them, and how they look."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from backend.review.queue_form import id_in
from backend.workspace import Workspace
from traced_ui import (
    board,
    dataset_jobs,
    dataset_settings,
    datasets,
    export,
    models_page,
    near_duplicates,
    picture_map,
    plane,
    playground,
    progress,
    retrain,
    rooms,
    team,
)
from traced_ui.jobs import build_button, build_drawer
from traced_ui.keyboard import KEYS
from traced_ui.messages import QUIET
from traced_ui.templates import render

#: All pages, the bar at the top and what lies over the pages, and the review page.
STYLES = [
    Path(__file__).with_name("styles.css"),
    Path(__file__).with_name("rooms.css"),
    Path(__file__).with_name("board") / "board.css",
]
_FONTS = ["Inter", "system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"]
#: The pages but Review, by name: each builds itself, and returns what draws it when it is opened.
_PAGES: dict[str, Callable[[Workspace, gr.Dropdown], tuple[Any, ...] | None]] = {
    "map": picture_map.build,
    "plane": plane.build,
    "duplicates": near_duplicates.build,
    "progress": progress.build,
    "retrain": retrain.build,
    "export": export.build,
    "datasets": datasets.build,
    "guidelines": dataset_settings.build_guidelines,
    "models": lambda workspace, _: models_page.build(workspace),
    "team": team.build,
    "settings": dataset_settings.build,
}
#: Drawn again when another dataset is chosen; the others see to it themselves.
_FOLLOW_THE_DATASET = ("map", "plane", "duplicates", "progress", "team")


def build(workspace: Workspace, dataset_id: int | None) -> gr.Blocks:
    """Build the whole app. `dataset_id`: the dataset selected initially."""
    with gr.Blocks(
        title="TRACED Curator", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)
    ) as blocks:
        with gr.Row(elem_id="traced-header"):
            gr.HTML(render("header/rooms.html", rooms=rooms.ROOMS), elem_id="traced-rooms")
            dataset = gr.Dropdown(
                dataset_jobs.choices(workspace), value=dataset_id, label="Dataset", container=False,
                elem_id="traced-dataset", min_width=160, scale=0,
            )  # fmt: skip
            gr.HTML(render("header/corner.html", room=rooms.DATASET), elem_id="traced-corner")
            try_button = gr.Button("Try one picture", elem_id="traced-try-open", size="sm", scale=0)
            jobs_button = build_button()
            gr.HTML(render("header/tools.html"), elem_id="traced-tools")
            who = gr.HTML(elem_id="traced-who")
        gr.HTML(render("header/pages.html", rooms=rooms.WITH_PAGES), elem_id="traced-pages")
        # Gradio's own buttons are hidden: the header has others (board/rooms.js).
        with gr.Tabs(elem_id="traced-tabs", overflow_behavior="wrap"):
            for page in rooms.PAGES:
                with gr.Tab(page.title, id=page.name) as tab:
                    if page.name == "review":
                        board.build(dataset, dataset_id)
                    elif drawn := _PAGES[page.name](workspace, dataset):
                        _draw(page.name, tab, dataset, *drawn)
        playground.build_panel(workspace, dataset, try_button)
        gr.HTML(render("help.html", keys=KEYS), elem_id="traced-keys", padding=False)
        build_drawer(workspace, blocks, jobs_button)

        def named(current: int | None, request: gr.Request) -> gr.Dropdown:
            """The datasets as they are now, and the one named in the page's URL selected; the
            review page opens its queue and pair."""
            wanted = id_in(str(dict(request.query_params).get("dataset", "")))
            entries = dataset_jobs.choices(workspace)
            ids = {id for _, id in entries}
            return gr.Dropdown(choices=entries, value=wanted if wanted in ids else current)

        def greeted(request: gr.Request) -> str:
            """The logged-in user and the logout link; empty without login."""
            name = request.username
            return render("logged_in.html", name=name) if name else ""

        blocks.load(greeted, None, [who], **QUIET)
        blocks.load(named, [dataset], [dataset], **QUIET)
    return blocks


def _draw(
    name: str, tab: gr.Tab, dataset: gr.Dropdown, draw: Any, inputs: Any, outputs: Any
) -> None:
    """Draw the page whenever it is opened.

    A page opened by URL is drawn before the dataset named there is selected: the last response must
    be the one for the dataset selected last.
    """
    changes = [dataset.change] if name in _FOLLOW_THE_DATASET else []
    gr.on(
        [tab.select, *changes], draw, inputs, outputs, trigger_mode="always_last",
        **QUIET,
    )  # fmt: skip


def make_theme() -> gr.themes.Base:
    """The theme, with local fonts only: nothing is downloaded."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.teal,
        neutral_hue=gr.themes.colors.slate,
        font=_FONTS,
        font_mono=["ui-monospace", "SFMono-Regular", "Menlo", "monospace"],
        radius_size=gr.themes.sizes.radius_md,
        spacing_size=gr.themes.sizes.spacing_sm,
        text_size=gr.themes.sizes.text_md,
    ).set(
        body_background_fill="#f5f6f8",
        body_background_fill_dark="#14171c",
        block_background_fill="#ffffff",
        block_background_fill_dark="#1c2027",
        body_text_color_subdued="#525b67",
        body_text_color_subdued_dark="#a9b2be",
        block_info_text_color="#525b67",
        block_info_text_color_dark="#a9b2be",
        block_label_text_color="#414a56",
        block_label_text_color_dark="#c3cad4",
        button_primary_background_fill="#0b6e66",
        button_primary_background_fill_dark="#0b6e66",
        button_primary_background_fill_hover="#095a54",
        button_primary_background_fill_hover_dark="#0e8379",
        button_primary_text_color="#ffffff",
    )
