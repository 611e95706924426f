"""The Gradio theme: muted colours, and one strong colour reserved for suspect captions."""

from pathlib import Path

import gradio as gr

#: All pages, the bar at the top and what lies over the pages, and the review page.
STYLES = [
    Path(__file__).with_name("styles.css"),
    Path(__file__).with_name("rooms.css"),
    Path(__file__).with_name("board") / "board.css",
]
_FONTS = ["Inter", "system-ui", "-apple-system", "Segoe UI", "Roboto", "Noto Sans", "sans-serif"]


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
