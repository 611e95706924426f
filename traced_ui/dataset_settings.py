"""What belongs to a dataset as a whole: its name, its folder, its deletion."""

from pathlib import PurePath
from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.jobs.dataset_reports import Deletion
from backend.settings import shown_database
from backend.workspace import Workspace
from traced_ui.jobs import table
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_kwargs, note
from traced_ui.page_dataset import PageDataset
from traced_ui.queue_panel import forget_drawn
from traced_ui.templates import part, render


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page that lists all datasets, and renames, moves and deletes the chosen one; return
    what draws the list: (function, inputs, outputs)."""
    gr.Markdown("### All datasets")
    overview = gr.HTML(elem_id="datasets-overview")
    gr.HTML(store_html(workspace), elem_id="settings-store")
    gr.Markdown("### This dataset")
    refusal = gr.HTML(elem_id="settings-refusal", padding=False, visible=False)
    with gr.Row(elem_id="dataset-fields", equal_height=False):
        with gr.Column(min_width=320):
            name = gr.Textbox(
                label="Name of this dataset", info="Scores and verdicts stay.",
                elem_id="rename-name", interactive=False,
            )  # fmt: skip
            rename = gr.Button("Rename", elem_id="rename-start")
        with gr.Column(min_width=320):
            folder = gr.Textbox(
                label="Folder that its pictures are in now",
                info="If they were moved. A few are looked for there first; verdicts stay.",
                elem_id="relocate-folder",
            )
            relocate = gr.Button("Use that folder", elem_id="relocate-start")
    message = gr.HTML(elem_id="dataset-settings-message")
    with gr.Accordion("Delete this dataset", open=False, elem_id="delete-form"):
        going = gr.HTML(elem_id="delete-what-goes")
        typed_name = gr.Textbox(
            label="To delete it, type its name here", value="", elem_id="delete-name",
            interactive=False,
        )  # fmt: skip
        delete = gr.Button("Delete the dataset", variant="stop", elem_id="delete-start")

    def draw_overview(request: gr.Request) -> str:
        return overview_html(seen_by(workspace, request))

    def open_dataset(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        """The dataset's name and what its deletion removes; all disabled for who may not change
        it."""
        is_allowed = may_change_datasets(workspace, request)
        is_open = is_allowed and dataset_id is not None
        what = workspace.deletion_preview(dataset_id) if dataset_id is not None else None
        return (
            gr.Textbox(what.name if what is not None else "", interactive=is_open),
            deletion_preview_html(what) if what is not None else "",
            gr.Textbox("", interactive=is_open),
            gr.Textbox(interactive=is_open),
            *(gr.Button(interactive=is_open) for _ in (rename, relocate, delete)),
            gr.HTML(refusal_html(is_allowed), visible=not is_allowed),
        )

    def rename_dataset(dataset_id: int | None, new: str, request: gr.Request) -> tuple[str, str]:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        workspace.rename_dataset(chosen_id, new or "")
        what = workspace.deletion_preview(chosen_id)
        return (
            deletion_preview_html(what),
            note(f"The dataset is now called '{what.name}'.", "good"),
        )

    def relocate_dataset(
        dataset_id: int | None, place: str, request: gr.Request
    ) -> tuple[str, str]:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        if not (place or "").strip():
            raise SettingsError("Enter the folder that the pictures are in now.")
        relocation = workspace.relocate_dataset(chosen_id, place.strip())
        text = (
            f"'{relocation.name}' is in {relocation.root} now: "
            f"{relocation.checked - relocation.missing} of {relocation.checked} pictures checked "
            "are there."
        )
        return deletion_preview_html(workspace.deletion_preview(chosen_id)), note(text, "good")

    def delete_dataset(
        dataset_id: int | None, name: str, request: gr.Request
    ) -> tuple[int | None, str]:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        what = workspace.deletion_preview(chosen_id)
        if (name or "").strip() != what.name:
            raise SettingsError(
                f"Nothing was deleted. Type the dataset's name, '{what.name}', to delete it."
            )
        deletion = workspace.delete_dataset(chosen_id)
        forget_drawn()
        where_kept = (
            f" Its verdicts are in {deletion.verdict_file}." if deletion.verdict_file else ""
        )
        rest = workspace.datasets()
        return (
            rest[0].id if rest else None,
            note(f"'{deletion.name}' is deleted.{where_kept}", "good"),
        )

    relocate.click(**event_kwargs(relocate_dataset, [dataset, folder], [going, message], message))
    # For each dataset: what was typed for one must not apply to the next.
    fields = [name, going, typed_name, folder, rename, relocate, delete, refusal]
    gr.on(None, open_dataset, [dataset], fields, **QUIET)
    redraw = (draw_overview, None, [overview])
    for change in (
        rename.click(**event_kwargs(rename_dataset, [dataset, name], [going, message], message)),
        delete.click(
            **event_kwargs(delete_dataset, [dataset, typed_name], [dataset, message], message)
        ),
    ):
        # In a request of its own, because the page may still be waiting for an earlier list.
        change.then(*redraw, **QUIET)
    return redraw


def may_change_datasets(workspace: Workspace, request: gr.Request) -> bool:
    """Whether the user may change a dataset as a whole."""
    return not request.username or workspace.accounts.may_settle(request.username)


def refusal_html(is_allowed: bool) -> str:
    """Why the fields of a page are disabled; "" if they are not."""
    return "" if is_allowed else part("adjudicators_only")


def dataset_to_change(workspace: Workspace, dataset_id: int | None, request: gr.Request) -> int:
    """The dataset's id. Raises SettingsError if there is none or the user may not change it."""
    if not may_change_datasets(workspace, request):
        raise SettingsError("Only an adjudicator may change a dataset as a whole.")
    if dataset_id is None:
        raise SettingsError("Choose a dataset at the top first.")
    return dataset_id


def deletion_preview_html(what: Deletion) -> str:
    """A preview of a deletion, as HTML."""
    return render("deletion_preview.html", what=what)


def short_path(source: str) -> str:
    """The end of a path, by which people know it.

    >>> short_path("/home/ann/data/2026/pets"), short_path("/pets"), short_path("hf:ann/pets")
    ('…/2026/pets', '/pets', 'hf:ann/pets')
    """
    path = PurePath(source)
    return f"…/{'/'.join(path.parts[-2:])}" if len(path.parts) > 3 else source


def store_html(workspace: Workspace) -> str:
    """Where verdicts are stored."""
    url = shown_database(workspace.settings.database_url)
    file = url.removeprefix("sqlite:///")
    return render("store.html", kind="PostgreSQL" if file == url else "SQLite", place=file)


def overview_html(workspace: Workspace) -> str:
    """All datasets as a table."""
    summaries = workspace.datasets()
    rows = [
        [s.name, str(s.total), str(s.scored), str(s.reviewed), str(s.errors_found), str(s.problems),
         part("short_path", short_path(s.source), s.source)]
        for s in summaries
    ]  # fmt: skip
    if not rows:
        return part("no_dataset")
    head = ["dataset", "pairs", "scored", "reviewed", "errors found", "problems", "source"]
    notes = [
        note(f"'{s.name}': most captions are not English, and phrases are known in English only.")
        for s in summaries
        if s.other_languages
    ]
    return "".join([table(head, rows, {1, 2, 3, 4, 5}), *notes])
