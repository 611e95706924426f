"""The review page: its components, and which of them an event changes.

The browser sends what was done and to which pair in which version (`script.js`); the server holds,
for each open page, a seat (`seats.py`), and `desk.py` says what each key does there.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr

from backend.workspace import Workspace
from traced_ui import review_page
from traced_ui.desk import Desk, Drawn
from traced_ui.keyboard import help_overlay, key_table
from traced_ui.markup import safe

SCRIPTS = [Path(__file__).with_name(name) for name in ("script.js", "half_done.js")]

#: In the browser, when an answer has come: no verdict is on its way any more.
ANSWERED = """() => {
    document.querySelectorAll(".saving").forEach((button) => button.classList.remove("saving"));
    return [];
}"""


def build(
    workspace: Workspace, dataset: gr.Dropdown, blocks: gr.Blocks
) -> tuple[Callable[..., Any], list[Any], list[Any]]:
    """The page's components and what they do; called inside its tab.

    Returns what draws it anew when a job has ended: (function, inputs, outputs).
    """
    desk = Desk(workspace)
    with gr.Row(elem_id="traced-review"):
        with gr.Column(elem_id="traced-left", scale=0):
            queue = gr.HTML(elem_id="traced-queue")
        with gr.Column(elem_id="traced-middle", scale=5):
            toast = gr.HTML(elem_id="traced-toast")
            stage = gr.HTML(elem_id="traced-stage")
            check = gr.HTML(elem_id="traced-check")
            abstract = gr.HTML(elem_id="traced-abstract")
        with gr.Column(elem_id="traced-right", scale=3):
            chart = gr.Plot(elem_id="traced-chart", show_label=False, container=False)
            steps = gr.HTML(elem_id="traced-steps")
    bus = gr.HTML(
        f'<span data-keys="{safe(json.dumps(key_table()))}" '
        f'data-decisions="{" ".join(review_page.DECISIONS)}"></span>',
        elem_id="traced-bus",
        js_on_load="\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS),
    )
    gr.HTML(help_overlay())
    outputs = [queue, stage, chart, steps, toast, check]

    def on_bus(event: gr.EventData, dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        drawn = desk.act(dict(event._data or {}), dataset_id, request)
        desk.seats.of(request).chart = drawn.chart
        return drawn.queue, drawn.stage, drawn.steps, drawn.toast, drawn.check

    def on_chart(request: gr.Request) -> Any:
        return desk.seats.of(request).chart

    def on_abstract(request: gr.Request) -> str:
        return desk.why_abstract(request)

    def on_load(dataset_id: int | None, request: gr.Request) -> Drawn:
        return desk.open(dataset_id, request)

    shared: dict[str, Any] = {
        "api_visibility": "private",
        "show_progress": "hidden",
        "concurrency_limit": 16,
    }
    # The chart follows: drawing it takes as long as all the rest, and a verdict shows before it.
    at_once = [queue, stage, steps, toast, check]
    bus.keypress(on_bus, [dataset], at_once, queue=False, trigger_mode="multiple", **shared).then(
        on_chart, None, [chart], queue=False, js=ANSWERED, **shared
    ).then(on_abstract, None, [abstract], queue=False, **shared)
    for opened in (blocks.load, dataset.change):
        opened(on_load, [dataset], outputs, **shared).then(on_abstract, None, [abstract], **shared)

    def on_job_end(dataset_id: int | None, request: gr.Request) -> Drawn:
        return desk.refresh(dataset_id, request)

    return on_job_end, [dataset], outputs
