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
    with gr.Accordion("Rename or delete the dataset", open=False, elem_id="dataset-settings"):
        name = gr.Textbox(label="New name", elem_id="rename-name")
        rename = gr.Button("Rename", elem_id="rename-start")
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
        what = workspace.what_goes(dataset_id)
        return current, preview(current), what.name, what_goes_html(what), ""

    @guarded
    def save(dataset_id: int | None, typed: str, request: gr.Request) -> tuple[str, str]:
        workspace.set_guidelines(_chosen(workspace, dataset_id, request), typed or "")
        return preview(typed or ""), note("The guidelines are saved.", "good")

    @guarded
    def renamed(dataset_id: int | None, new: str, request: gr.Request) -> tuple[Any, str, str]:
        chosen = _chosen(workspace, dataset_id, request)
        workspace.rename_dataset(chosen, new or "")
        what = workspace.what_goes(chosen)
        return (
            gr.Dropdown(choices=choices(workspace)),
            what_goes_html(what),
            note(f"The dataset is now called '{what.name}'.", "good"),
        )

    @guarded
    def deleted(dataset_id: int | None, typed: str, request: gr.Request) -> tuple[Any, str]:
        chosen = _chosen(workspace, dataset_id, request)
        what = workspace.what_goes(chosen)
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


def _chosen(workspace: Workspace, dataset_id: int | None, request: gr.Request) -> int:
    """The dataset's id. Raises SettingsError if there is none or the user may not change it."""
    if request.username and not workspace.accounts.may_settle(request.username):
        raise SettingsError("Only an adjudicator may change a dataset as a whole.")
    if dataset_id is None:
        raise SettingsError(_NO_DATASET)
    return dataset_id


def preview(text: str) -> str:
    """The guidelines as the review page shows them."""
    return render("guidelines_preview.html", text=from_markdown(text.strip()))


def what_goes_html(what: Deletion) -> str:
    """A preview of a deletion, as HTML."""
    return render("what_goes.html", what=what)
