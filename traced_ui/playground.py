"""One image and one caption in, everything out."""

from pathlib import Path
from typing import Any

import gradio as gr
from PIL import Image

from backend.errors import SettingsError
from backend.views import PlaygroundResult
from backend.workspace import QueueFilter, Workspace
from traced_ui.abstractness import explained_abstractness
from traced_ui.differences import difference
from traced_ui.figures import trajectory_figure
from traced_ui.highlighting import highlighted_caption
from traced_ui.markup import number, percent, safe
from traced_ui.messages import guarded, note
from traced_ui.steps import steps_list

EXAMPLES = 6


def build(workspace: Workspace, dataset: gr.Dropdown) -> None:
    with gr.Row():
        with gr.Column(scale=2, min_width=320):
            image = gr.Image(
                type="pil", label="Picture", height=340, sources=["upload", "clipboard"]
            )
            caption = gr.Textbox(
                label="Caption", lines=2, max_lines=6, elem_id="playground-caption"
            )
            run = gr.Button("Check this pair", variant="primary", elem_id="playground-run")
            examples = _examples(workspace)
            if examples:
                gr.Examples(
                    examples, [image, caption], label="Examples", examples_per_page=EXAMPLES
                )
        with gr.Column(scale=3, min_width=380):
            result = gr.HTML(
                '<div class="empty"><h2>Nothing checked yet</h2>Choose an example, or a picture '
                "and a caption of your own.</div>",
                elem_id="playground-result",
            )
            chart = gr.Plot(show_label=False, container=False, visible=False)
            steps = gr.HTML()
            abstract = gr.HTML()

    @guarded
    def check(picture: Image.Image | None, text: str | None) -> tuple[str, Any, str, str]:
        if picture is None:
            raise SettingsError("Choose a picture first.")
        found = workspace.playground(picture, text or "")
        chart = gr.Plot(trajectory_figure(found.trajectory), visible=True)
        why = "<h3>What makes it concrete</h3>" + explained_abstractness(found.abstractness)
        return result_html(found), chart, steps_list(found.trajectory), why

    options: dict[str, Any] = {"api_visibility": "private", "concurrency_limit": 2}
    gr.on(
        [run.click, caption.submit],
        check,
        [image, caption],
        [result, chart, steps, abstract],
        **options,
    )


def result_html(found: PlaygroundResult) -> str:
    chips = '<span class="chip">looks abstract</span>' if found.looks_abstract else ""
    if found.truncated:
        chips += '<span class="chip">longer than the model reads</span>'
    words_read = len(found.trajectory.first_step_scores)
    gains = found.trajectory.deletion_gains.tolist()
    offers = "".join(
        f'<li class="offer"><span dir="auto">{difference(found.caption, offer.caption)}</span> '
        f"<small>{safe(offer.proposer)} · s {offer.s_before:.3f} → {offer.s_after:.3f}"
        + (f" · p {percent(offer.p_before)} → {percent(offer.p_after)}" if offer.p_after else "")
        + "</small></li>"
        for offer in found.suggestions
    )
    return (
        '<div id="traced-stage-playground">'
        + highlighted_caption(found.caption, found.suspects, (), words_read, gains)
        + f'<div class="facts"><span>probability of error <b>{percent(found.p_error)}</b> '
        f"<small>({safe(found.p_note)})</small></span><span>s <b>{number(found.s_0, 3)}</b></span>"
        f"<span>ICC <b>{number(found.icc)}</b></span><span>{safe(found.scored_by)}</span>"
        f"{chips}</div>"
        + (f"<h3>Suggested corrections</h3><ul>{offers}</ul>" if offers else "")
        + (note(found.limits, "warning") if found.limits else "")
        + "</div>"
    )


def _examples(workspace: Workspace) -> list[list[Any]]:
    """The pairs of the first dataset that are there at the start, spread over the import order."""
    for summary in workspace.datasets():
        rows = workspace.queue_page(
            QueueFilter(summary.id, order="position", descending=False), None, 60
        )
        chosen = rows.rows[:: max(1, len(rows.rows) // EXAMPLES)][:EXAMPLES]
        found = []
        for row in chosen:
            try:
                image = workspace.image_path(row.pair_id)
                if isinstance(image, Path):  # Gradio shows files; those inside others it cannot
                    found.append([str(image), row.caption])
            except Exception:
                continue  # an example that has gone is no loss
        if found:
            return found
    return []
