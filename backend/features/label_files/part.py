"""Labels that were given elsewhere, pasted into the page: previewed, given, taken back."""

import tempfile
from pathlib import Path

import gradio as gr

from backend.counts import count_of
from backend.features.label_files.giving import apply_labels, report_lines, undo_labels
from backend.workspace import Workspace
from traced_ui.dataset_settings import dataset_to_change
from traced_ui.login import seen_by
from traced_ui.messages import event_kwargs, note
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import PagePart
from traced_ui.templates import renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))
#: The file that the labels seem to come from; it is their author.
_NAME = "pasted by {}"


def build(workspace: Workspace, dataset: PageDataset, learnt: gr.HTML) -> None:
    """Build this part of the page that trains the detector; called inside it."""
    with gr.Accordion("Labels that were given elsewhere", open=False, elem_id="labels"):
        text = gr.Textbox(
            label="Paste rows of a spreadsheet, or the contents of a CSV, JSON or JSONL file",
            info="With a header: id (or file_name) and verdict (correct, wrong, …, or 0 and 1 for "
            "right and wrong); optionally caption (a correction) and note. Exports of Label Studio "
            "and Argilla are understood.",
            placeholder="id,verdict,note", lines=6, max_lines=16, elem_id="labels-text",
        )  # fmt: skip
        sampling = gr.Checkbox(
            label="These pairs were drawn at random from the dataset",
            info="The error finder learns the most from them.", elem_id="labels-at-random",
        )  # fmt: skip
        with gr.Row():
            look = gr.Button("Preview", elem_id="labels-preview")
            give = gr.Button("Give these verdicts", variant="primary", elem_id="labels-give")
            undo = gr.Button("Take the last ones back", elem_id="labels-undo")
        message = gr.HTML(elem_id="labels-message")

    def apply(
        dataset_id: int | None, labels: str, at_random: bool, preview: bool, request: gr.Request
    ) -> str:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"labels{ending_of(labels)}"
            path.write_text(labels, encoding="utf-8")
            store = seen_by(workspace, request).store
            file = _file(workspace, request)
            report = apply_labels(
                store, chosen_id, path, preview=preview, name=file, at_random=at_random
            )
        return render_in("label_files.html", lines=report_lines(report))

    def preview_labels(
        dataset_id: int | None, labels: str, at_random: bool, request: gr.Request
    ) -> str:
        return apply(dataset_id, labels or "", at_random, True, request)

    def give_verdicts(
        dataset_id: int | None, labels: str, at_random: bool, request: gr.Request
    ) -> str:
        return apply(dataset_id, labels or "", at_random, False, request)

    def undone(dataset_id: int | None, request: gr.Request) -> str:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        act = undo_labels(workspace.store, chosen_id, _file(workspace, request))
        if act is None:
            return note("No pasted label is in effect.")
        return note(f"{count_of(act.together, 'verdict')} taken back.", "good")

    look.click(**event_kwargs(preview_labels, [dataset, text, sampling], [message], message))
    give.click(**event_kwargs(give_verdicts, [dataset, text, sampling], [message], message))
    undo.click(**event_kwargs(undone, [dataset], [message], message))


def ending_of(text: str) -> str:
    """The file name ending of the format that a text seems to have.

    >>> [ending_of(text) for text in ("id,verdict", "id\\tverdict", "[{}]", '{"id": 1}')]
    ['.csv', '.tsv', '.json', '.jsonl']
    """
    start = text.lstrip()[:1]
    if start in ("[", "{"):
        return ".json" if start == "[" else ".jsonl"
    return ".tsv" if "\t" in text.partition("\n")[0] else ".csv"


def _file(workspace: Workspace, request: gr.Request) -> str:
    return _NAME.format(request.username or workspace.settings.author)


PART = PagePart("learn", build)
