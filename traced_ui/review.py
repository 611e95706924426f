"""The review page: its components, and which of them each event updates.

The browser sends each action with the pair and its version (`script.js`); the server keeps
one session per open page (`page_sessions.py`); `review_actions.py` defines what each key does.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from traced_ui import review_page
from traced_ui.keyboard import help_overlay, key_table
from traced_ui.review_actions import Drawn, ReviewActions
from traced_ui.templates import render

_SCRIPTS = (
    "script.js", "late_answers.js", "own_keys.js", "half_done.js", "read_ahead.js", "zoom.js",
    "addresses.js",
)  # fmt: skip
SCRIPTS = [Path(__file__).with_name(name) for name in _SCRIPTS]

#: In the browser, after a response: no verdict is pending any more.
ANSWERED = """() => {
    document.querySelectorAll(".saving").forEach((button) => button.classList.remove("saving"));
    document.dispatchEvent(new Event("traced-answered"));
    return [];
}"""


def build(
    actions: ReviewActions, dataset: gr.Dropdown, blocks: gr.Blocks
) -> tuple[Callable[..., Any], list[Any], list[Any]]:
    """Build the page's components and events; called inside its tab.

    Returns what redraws the page when a job has ended: (function, inputs, outputs).
    """
    with gr.Row(elem_id="traced-review"):
        with gr.Column(elem_id="traced-left", scale=0):
            gr.HTML(review_page.toolbar(), elem_id="traced-toolbar")
            queue = gr.HTML(elem_id="traced-queue")
        with gr.Column(elem_id="traced-middle", scale=5):
            toast = gr.HTML(elem_id="traced-toast")
            stage = gr.HTML(elem_id="traced-stage")
            check = gr.HTML(elem_id="traced-check")
            abstract = gr.HTML(elem_id="traced-abstract")
        with gr.Column(elem_id="traced-right", scale=3):
            chart = gr.HTML(elem_id="traced-chart")
            steps = gr.HTML(elem_id="traced-steps")
    bus = gr.HTML(
        render(
            "review/bus.html",
            keys=json.dumps(key_table()),
            decisions=" ".join(review_page.DECISIONS),
        ),
        elem_id="traced-bus",
        js_on_load="\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS),
    )
    gr.HTML(help_overlay())
    gr.HTML(render("review/returned.html"), elem_id="traced-returned")
    outputs = [queue, stage, chart, steps, toast, check]

    def drawn(request: gr.Request, draw: Callable[[], Drawn]) -> Drawn:
        with actions.sessions.of(request).lock:  # numbers follow the order of drawing
            parts = draw()
            number = next(actions.numbers)
        return Drawn(*(_numbered(part, number) for part in parts))

    def on_bus(event: gr.EventData, dataset_id: int | None, request: gr.Request) -> Drawn:
        data = dict(event._data or {})
        return drawn(request, lambda: actions.act(data, dataset_id, request))

    def on_typing(event: gr.EventData) -> Any:
        # Without the lock: keys must not wait for a slow model.
        return _numbered(actions.check(dict(event._data or {})), next(actions.numbers))

    def on_abstract(request: gr.Request) -> str:
        return actions.why_abstract(request)

    def on_load(dataset_id: int | None, request: gr.Request) -> Drawn:
        return drawn(request, lambda: actions.open(dataset_id, request))

    shared: dict[str, Any] = {
        "api_visibility": "private",
        "show_progress": "hidden",
        "concurrency_limit": 16,
    }
    bus.keypress(on_bus, [dataset], outputs, queue=False, trigger_mode="multiple", **shared).then(
        on_abstract, None, [abstract], queue=False, js=ANSWERED, **shared
    )
    bus.input(on_typing, None, [check], queue=False, trigger_mode="multiple", **shared)
    for opened in (blocks.load, dataset.change):
        opened(on_load, [dataset], outputs, **shared).then(on_abstract, None, [abstract], **shared)

    def on_job_end(dataset_id: int | None, request: gr.Request) -> Drawn:
        return drawn(request, lambda: actions.refresh(dataset_id, request))

    return on_job_end, [dataset], outputs


def _numbered(part: Any, number: int) -> Any:
    """Append a number to the HTML of a part. Gradio then redraws it even if unchanged: Gradio
    compares it with what it drew last, not with the page, where the script may have shown another
    pair in the meantime."""
    if not isinstance(part, str):
        return part
    return render("review/numbered.html", html=part, number=number)
