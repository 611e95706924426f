"""Settings of a dataset: guidelines, renaming and deletion."""

from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.jobs.reports import Deletion
from backend.workspace import Workspace
from traced_ui.markdown import from_markdown
from traced_ui.messages import guarded, note
from traced_ui.templates import render

_NO_DATASET = "Choose a dataset at the top first."


def build(workspace: Workspace, dataset: gr.Dropdown, choices: Any) -> list[Any]:
    """Build this part of the Datasets page; called inside it. `choices`: returns the choices of the
    dropdown at the top. Returns the events that change the list of datasets."""
    with gr.Accordion("Guidelines for curators", open=False, elem_id="guidelines"):
        text = gr.Textbox(
            label="In Markdown; shown next to each pair on the Review page (key I)",
            lines=8, max_lines=24, elem_id="guidelines-text",
        )  # fmt: skip
        keep = gr.Button("Save the guidelines", elem_id="guidelines-save")
        shown = gr.HTML(elem_id="guidelines-shown")
    with gr.Accordion("Rename, move or delete the dataset", open=False, elem_id="dataset-settings"):
        name = gr.Textbox(label="New name", elem_id="rename-name")
        rename = gr.Button("Rename", elem_id="rename-start")
        folder = gr.Textbox(
            label="Folder that its pictures are in now",
            info="After they were moved. Some of them are looked for there; verdicts stay.",
            elem_id="relocate-folder",
        )
        relocate = gr.Button("Use that folder", elem_id="relocate-start")
        going = gr.HTML(elem_id="delete-what-goes")
        typed = gr.Textbox(
            label="To delete it, type its name here", value="", elem_id="delete-name"
        )
        delete = gr.Button("Delete the dataset", variant="stop", elem_id="delete-start")
    message = gr.HTML(elem_id="dataset-settings-message")

    def opened(dataset_id: int | None) -> tuple[str, str, str, str, str]:
        """Reset all fields for another dataset: input typed for one must not apply to the next."""
        if dataset_id is None:
            return "", "", "", "", ""
        current = workspace.guidelines(dataset_id)
        what = workspace.deletion_preview(dataset_id)
        return current, preview(current), what.name, deletion_preview_html(what), ""

    @guarded
    def save(dataset_id: int | None, typed: str, request: gr.Request) -> tuple[str, str]:
        workspace.set_guidelines(dataset_to_change(workspace, dataset_id, request), typed or "")
        return preview(typed or ""), note("The guidelines are saved.", "good")

    @guarded
    def renamed(dataset_id: int | None, new: str, request: gr.Request) -> tuple[Any, str, str]:
        chosen = dataset_to_change(workspace, dataset_id, request)
        workspace.rename_dataset(chosen, new or "")
        what = workspace.deletion_preview(chosen)
        return (
            gr.Dropdown(choices=choices(workspace)),
            deletion_preview_html(what),
            note(f"The dataset is now called '{what.name}'.", "good"),
        )

    @guarded
    def relocated(dataset_id: int | None, place: str, request: gr.Request) -> tuple[str, str]:
        chosen = dataset_to_change(workspace, dataset_id, request)
        if not (place or "").strip():
            raise SettingsError("Enter the folder that the pictures are in now.")
        moved = workspace.relocate_dataset(chosen, place.strip())
        text = (
            f"'{moved.name}' is in {moved.root} now: {moved.checked - moved.missing} of "
            f"{moved.checked} pictures checked are there."
        )
        return deletion_preview_html(workspace.deletion_preview(chosen)), note(text, "good")

    @guarded
    def deleted(dataset_id: int | None, typed: str, request: gr.Request) -> tuple[Any, str]:
        chosen = dataset_to_change(workspace, dataset_id, request)
        what = workspace.deletion_preview(chosen)
        if (typed or "").strip() != what.name:
            raise SettingsError(
                f"Nothing was deleted. Type the dataset's name, '{what.name}', to delete it."
            )
        gone = workspace.delete_dataset(chosen)
        kept = f" Its verdicts are in {gone.verdict_file}." if gone.verdict_file else ""
        rest = choices(workspace)
        return (
            gr.Dropdown(choices=rest, value=rest[0][1] if rest else None),
            note(f"'{gone.name}' is deleted.{kept}", "good"),
        )

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    relocate.click(relocated, [dataset, folder], [going, message], **options)
    keep.click(save, [dataset, text], [shown, message], **options)
    changes = [
        rename.click(renamed, [dataset, name], [dataset, going, message], **options),
        delete.click(deleted, [dataset, typed], [dataset, message], **options),
    ]
    whole = [text, shown, name, going, typed]
    dataset.change(opened, [dataset], whole, **options)
    context = gr.context.Context.root_block
    if context is not None:
        context.load(opened, [dataset], whole, **options)
    return changes


def dataset_to_change(workspace: Workspace, dataset_id: int | None, request: gr.Request) -> int:
    """The dataset's id. Raises SettingsError if there is none or the user may not change it."""
    if request.username and not workspace.accounts.may_settle(request.username):
        raise SettingsError("Only an adjudicator may change a dataset as a whole.")
    if dataset_id is None:
        raise SettingsError(_NO_DATASET)
    return dataset_id


def preview(text: str) -> str:
    """The guidelines as the review page shows them."""
    return render("guidelines_preview.html", text=from_markdown(text.strip()))


def deletion_preview_html(what: Deletion) -> str:
    """A preview of a deletion, as HTML."""
    return render("deletion_preview.html", what=what)
