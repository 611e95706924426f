"""The question that is asked before something ends for good, and its two answers."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from traced_ui.messages import QUIET, note

#: What a handler returns for `Confirmation.column` once the answer is given.
CLOSED: dict[str, Any] = gr.update(visible=False)


@dataclass(frozen=True)
class Confirmation:
    """`sure` goes on; the other button closes the question."""

    column: gr.Column
    question: gr.HTML
    sure: gr.Button

    @classmethod
    def build(cls, name: str, what: str) -> "Confirmation":
        """Build it, hidden; called inside the page. `name` begins the components' ids; `what` is
        on the button that goes on."""
        with gr.Column(visible=False, elem_id=name) as column:
            question = gr.HTML(elem_id=f"{name}-question")
            with gr.Row():
                sure = gr.Button(what, variant="stop", elem_id=f"{name}-sure")
                keep = gr.Button("Keep it", elem_id=f"{name}-keep")
        keep.click(lambda: CLOSED, None, [column], **QUIET)
        return cls(column, question, sure)

    def ask(self, text: str) -> tuple[dict[str, Any], str]:
        """What a handler returns for `column` and `question` to ask this."""
        return gr.update(visible=True), note(text, "warning")
