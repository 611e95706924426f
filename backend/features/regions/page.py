"""In the browser: what has the mouse or the focus lights its word's part of the picture, on Review
and in Try one picture."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gradio as gr
from pydantic import TypeAdapter, ValidationError

from backend.datasets.safe_files.images import load_image
from backend.errors import SettingsError
from backend.features.regions.exporting import region_cells
from backend.features.regions.finding import look_in
from backend.workspace import Workspace
from traced_ui.keyboard import Key
from traced_ui.messages import QUIET, event_value, explain_on_page
from traced_ui.page_actions import AddedActions
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import PagePart

_FOLDER = Path(__file__).parent
#: Words whose places in the picture are asked for at once.
MOST_WORDS = 100


def build(
    workspace: Workspace,
    dataset: PageDataset,
    answer: gr.HTML,
    picture: gr.Image,
    caption: gr.Textbox,
    model: gr.Dropdown,
) -> None:
    """Build what lights words of the answer; it is not seen itself."""
    from traced_ui import board  # which reads the actions below

    script = (_FOLDER / "try_outlines.js").read_text(encoding="utf-8")
    regions = gr.HTML(
        html_template="", visible="hidden", elem_id="playground-regions",
        js_on_load=f"const outline = {board.importing('outline.js')};\n{script}",
    )  # fmt: skip
    options: dict[str, Any] = {**QUIET, "queue": True, "concurrency_limit": 2}
    regions.focus(looking(workspace), [picture, caption, dataset, model], [regions], **options)


def looking(workspace: Workspace) -> Callable[..., str]:
    """The handler of the wish to see where suspect words are: their regions, or the problem, and
    the number of the question, as JSON. `spans` of the event: characters of the caption."""

    def look(
        picture: str | None,
        text: str | None,
        dataset_id: int | None,
        model: str | None,
        event: gr.EventData,
    ) -> str:
        answer: dict[str, Any] = {"number": event_value(event, "number", 0)}
        try:
            if picture is None:
                raise SettingsError("Choose a picture first.")
            if model and model not in workspace.models.names_here():
                raise SettingsError(f"'{model}' is not on this machine. Choose another model.")
            caption, image = text or "", load_image(Path(picture))
            spans = _spans(event_value(event, "spans", []), len(caption))
            engine = workspace.engines.of_dataset(dataset_id, model or None)
            regions = look_in(workspace.store, engine, image, caption, spans, dataset_id)
            answer["regions"] = [
                {
                    **cells,
                    "word": caption[cells["start"] : cells["end"]],
                    "picture_size": image.size,
                }
                for cells in region_cells(regions)
            ]
        except Exception as problem:
            answer["problem"] = explain_on_page(problem)
        return json.dumps(answer)

    return look


def _spans(value: object, length: int) -> list[tuple[int, int]]:
    """What a browser sent as places in a caption of this length. Raises SettingsError."""
    try:
        spans = TypeAdapter(list[tuple[int, int]]).validate_python(value)
    except ValidationError as problem:
        raise SettingsError("These are no places in a caption.") from problem
    if len(spans) > MOST_WORDS or any(not 0 <= a < b <= length for a, b in spans):
        raise SettingsError("The caption has no such words.")
    return spans


ACTIONS = AddedActions(
    {},
    keys=(Key(("o", "O"), "look", "O", "zoom to the suspect word, or back", "See"),),
    scripts=(_FOLDER / "outline.js", _FOLDER / "regions.js"),
)
TRY = PagePart("try", build)
