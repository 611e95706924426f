"""Gradio's loading indicators, made to cost nothing while none is shown.

They are expensive in two ways (Gradio 6.31). After each event and its answer, the page updates the
indicator of every component that has been an output before, and for each of them looks through all
components. And the indicator of the page's own start requests an animation frame after another
even when it has been removed: 6 % of a core for as long as a page is open.
"""

from collections.abc import Callable
from pathlib import Path

import fastapi
import gradio as gr
from fastapi.responses import Response

#: Gradio's scripts, as they are served below /assets.
ASSETS = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
#: What an indicator counts its seconds with, in Gradio's script, and what replaces it.
EACH_FRAME = "window.requestAnimationFrame"
WHILE_SHOWN = """(count => document.querySelector("[data-testid=status-tracker]:not(.hide)")
? requestAnimationFrame(count) : setTimeout(count, 1000))"""


def without_hidden_indicators(blocks: gr.Blocks) -> None:
    """Let events with `show_progress="hidden"` update no indicator. Call it when all events are
    defined."""
    for event in blocks.fns.values():
        if event.show_progress == "hidden":
            event.show_progress_on = []


def add_routes(app: fastapi.FastAPI) -> None:
    """Serve Gradio's script of the indicators with frames only while one is shown. Call it before
    Gradio is mounted, whose file it is otherwise."""
    for file in ASSETS.glob("statustracker-*.js"):
        script = file.read_text(encoding="utf-8").replace(EACH_FRAME, WHILE_SHOWN)
        app.get(f"/assets/{file.name}")(_serving(script))


def _serving(script: str) -> Callable[[], Response]:
    def served() -> Response:
        headers = {"Cache-Control": "private, max-age=86400"}
        return Response(script, media_type="text/javascript", headers=headers)

    return served
