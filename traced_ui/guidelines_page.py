"""Guidelines page: what curators should agree on, written beside what they see of it in Review."""

from pathlib import Path

import gradio as gr

from backend.workspace import Workspace
from traced_ui.dataset_settings import dataset_to_change, may_change_datasets, refusal_html
from traced_ui.markdown import from_markdown
from traced_ui.messages import QUIET, event_kwargs, note
from traced_ui.page_dataset import PageDataset
from traced_ui.templates import render

#: Guidelines to start from, in Markdown.
EXAMPLE = Path(__file__).with_name("guidelines_example.md").read_text(encoding="utf-8").strip()


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page: the text, and beside it what curators see."""
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            gr.HTML(render("guidelines_intro.html"))
            refusal = gr.HTML(elem_id="guidelines-refusal", padding=False, visible=False)
            example = gr.Button(
                "Start from the example", elem_id="guidelines-example", visible=False
            )
            text = gr.Textbox(
                label="Guidelines (Markdown)", lines=14, max_lines=28, elem_id="guidelines-text",
                interactive=False, placeholder="# What counts as an error\n\n- …",
            )  # fmt: skip
            save = gr.Button(
                "Save the guidelines", elem_id="guidelines-save", variant="primary",
                interactive=False,
            )  # fmt: skip
            message = gr.HTML(elem_id="guidelines-message")
        with gr.Column(min_width=320):
            preview = gr.HTML(elem_id="guidelines-shown")

    def open_dataset(
        dataset_id: int | None, request: gr.Request
    ) -> tuple[gr.Textbox, gr.Button, str, gr.Button, str, gr.HTML]:
        is_allowed = may_change_datasets(workspace, request)
        current = "" if dataset_id is None else workspace.guidelines(dataset_id)
        may_write = dataset_id is not None and is_allowed
        # Nothing that is typed before is overwritten.
        return (
            gr.Textbox(current, interactive=may_write), gr.Button(interactive=may_write),
            preview_html(current), gr.Button(visible=may_write and not current), "",
            gr.HTML(refusal_html(is_allowed), visible=not is_allowed),
        )  # fmt: skip

    def follow(draft: str | None) -> tuple[str, gr.Button]:
        return preview_html(draft or ""), gr.Button(visible=not (draft or "").strip())

    def keep(
        dataset_id: int | None, draft: str | None, request: gr.Request
    ) -> tuple[str, gr.Button, str]:
        workspace.set_guidelines(dataset_to_change(workspace, dataset_id, request), draft or "")
        seen = "see them with" if (draft or "").strip() else "no longer see guidelines, from"
        confirmation = f"Saved. Curators {seen} the next pair that they open."
        return (*follow(draft), note(confirmation, "good"))

    gr.on(
        None, open_dataset, [dataset], [text, save, preview, example, message, refusal],
        **QUIET,
    )  # fmt: skip
    example.click(lambda: (EXAMPLE, *follow(EXAMPLE)), None, [text, preview, example], **QUIET)
    text.input(
        lambda draft: (*follow(draft), ""), [text], [preview, example, message],
        trigger_mode="always_last", **QUIET,
    )  # fmt: skip
    save.click(**event_kwargs(keep, [dataset, text], [preview, example, message], message))


def preview_html(text: str) -> str:
    """The guidelines as the review page shows them; the example if there are none."""
    return render(
        "guidelines_preview.html",
        text=from_markdown(text.strip()), example="" if text.strip() else from_markdown(EXAMPLE),
    )  # fmt: skip
