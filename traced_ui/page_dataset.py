"""The dataset that a page shows: the browser holds it, and sends it with each event."""

from typing import Any

import gradio as gr

from backend.review.queue_form import id_in

#: In the browser: the dataset in the address of the page.
_IN_ADDRESS = "() => new URL(location.href).searchParams.get('dataset') ?? ''"
#: In the browser: the dataset has changed.
_BECAME = """(dataset) => {
    document.dispatchEvent(new CustomEvent("traced-became", { detail: dataset }));
}"""


class PageDataset(gr.Textbox):
    """A field with the id of a dataset, or None."""

    is_template = True  # uses the frontend of gr.Textbox

    def preprocess(self, payload: str | None) -> Any:
        return id_in(payload or "")

    def postprocess(self, value: Any) -> str:
        return "" if value is None else str(value)


def build(blocks: gr.Blocks) -> tuple[PageDataset, Any]:
    """Build the field of a page. Return it, and what takes the dataset from the address when the
    page is opened: until then the field is empty, so that no button acts on another dataset."""
    # In the document, though hidden: others are not told when they change.
    dataset = PageDataset("", visible="hidden", elem_id="page-dataset")
    dataset.change(None, [dataset], None, js=_BECAME, api_visibility="private")
    return dataset, blocks.load(None, None, [dataset], js=_IN_ADDRESS, api_visibility="private")
