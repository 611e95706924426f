"""The pages, each with the bar at its top, and how they look."""

from pathlib import Path
from typing import Any

import gradio as gr

from backend.review.pair_parts import load_pair_parts
from backend.workspace import Workspace
from traced_ui import (
    board,
    dataset_settings,
    datasets,
    export,
    guidelines_page,
    header,
    models_page,
    page_dataset,
    progress,
    retrain,
    rooms,
    team,
)
from traced_ui.keyboard import by_task
from traced_ui.messages import QUIET
from traced_ui.pages import Build, build_or_say
from traced_ui.review_actions import ALL_KEYS
from traced_ui.templates import part, render

#: All pages, the bar at the top and what lies over the pages, and the review page.
STYLES = [
    Path(__file__).with_name("styles.css"),
    Path(__file__).with_name("rooms.css"),
    Path(__file__).with_name("board") / "board.css",
    *(each.styles for each in (*rooms.ADDED.values(), *load_pair_parts()) if each.styles),
]
_FONTS = ["Inter", "system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"]
#: The pages but Review, by name: each builds itself, and returns what draws it when it is opened.
_PAGES: dict[str, Build] = {
    "progress": progress.build,
    "retrain": retrain.build,
    "export": export.build,
    "datasets": datasets.build,
    "guidelines": guidelines_page.build,
    "models": lambda workspace, _: models_page.build(workspace),
    "team": team.build,
    "settings": dataset_settings.build,
    **{name: page.build for name, page in rooms.ADDED.items()},
}


def build(workspace: Workspace, dataset_id: int | None) -> gr.Blocks:
    """Build the whole app, each page at its own address. `dataset_id`: the dataset of an address
    that names none."""
    blocks = gr.Blocks(
        title="TRACED Curator", analytics_enabled=False, fill_width=True, delete_cache=(3600, 86400)
    )
    with blocks:
        header.build(rooms.REVIEW)
        board.build(dataset_id)
        gr.HTML(render("help.html", tasks=by_task(ALL_KEYS)), elem_id="traced-keys", padding=False)
        for page in rooms.PAGES:
            if page != rooms.REVIEW:
                # What `Blocks.route` does, within one block: at the end of each block Gradio
                # describes all pages so far and makes a server of them.
                blocks.pages.append((page.path, page.title, False))
                blocks.current_page = page.path
                header.build(page)
                _build_page(page, blocks, workspace, dataset_id)
    return blocks


def _build_page(
    page: rooms.Page, blocks: gr.Blocks, workspace: Workspace, dataset_id: int | None
) -> None:
    """Build a page below the bar, and draw it for the dataset in its address."""
    dataset, opening = page_dataset.build(blocks)

    is_about_one = page.name == "guidelines" or rooms.room_of(page) not in (None, rooms.DATASET)

    def open_or_first(requested_id: int | None) -> tuple[int | None, Any]:
        """The dataset of the address, or the first that there is; what a page about one says
        instead of itself if there is none."""
        ids = [summary.id for summary in workspace.datasets()]
        chosen_id = next((id for id in (requested_id, dataset_id, *ids[:1]) if id in ids), None)
        is_missing = is_about_one and chosen_id is None
        return chosen_id, gr.HTML(part("no_dataset"), visible=True) if is_missing else gr.skip()

    with gr.Column(elem_id="traced-content"):
        no_dataset = gr.HTML(elem_id="no-dataset", visible=False, padding=False)
        if page.name in rooms.ADDED:
            redraw = build_or_say("page", lambda: _PAGES[page.name](workspace, dataset))
        else:
            redraw = _PAGES[page.name](workspace, dataset)
    opening = opening.then(open_or_first, [dataset], [dataset, no_dataset], **QUIET)
    if redraw:
        opening.then(*redraw, **QUIET)


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
        checkbox_border_color="#858e99",
        checkbox_border_color_dark="#858e99",
    )
