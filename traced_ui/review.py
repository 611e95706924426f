"""The review page: one component, which Gradio draws once.

Its behaviour is in the browser (`board/`); `board.py` answers its requests, `review_actions.py`
defines what each key does.
"""

import json

import gradio as gr

from traced_ui import review_page
from traced_ui.board import VERSION
from traced_ui.keyboard import key_table
from traced_ui.templates import render

#: With the whole address: Chromium resolves an import in cached code at the page that cached it.
_START = f"""import(new URL("board/{VERSION}/main.js", location.href).href)
    .then((board) => board.start(element));"""
#: In the browser: the dataset chosen in the header, told to the page.
_CHOSEN = """(dataset) => {
    document.dispatchEvent(new CustomEvent("traced-dataset", { detail: dataset }));
}"""


def build(dataset: gr.Dropdown, dataset_id: int | None) -> None:
    """Build the page inside its tab. `dataset_id`: the dataset selected initially in `dataset`."""
    board = render(
        "review/board.html",
        keys=json.dumps(key_table()),
        decisions=" ".join(review_page.DECISIONS),
        dataset=dataset_id,
        toolbar=review_page.toolbar(),
    )
    gr.HTML(board, js_on_load=_START, apply_default_css=False, padding=False)
    dataset.change(None, [dataset], None, js=_CHOSEN, api_visibility="private")
