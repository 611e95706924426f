"""Faults of captions that no model is needed for, on Add data: found after an import, counted with
examples and a queue each, and mended where that is safe."""

from pathlib import Path
from typing import Any

import gradio as gr

from backend.counts import count_of
from backend.features.lint.faults import RULES
from backend.features.lint.linting import FAULTS, PREFIX, languages_in_words
from backend.review.caption_edits import change_each, edit_captions, find_mend
from backend.review.queue_form import as_query
from backend.review.views import EditView
from backend.workspace import Workspace
from traced_ui.dataset_settings import dataset_to_change
from traced_ui.differences import difference
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_kwargs, note
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import PagePart
from traced_ui.templates import renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))
#: Captions that are shown of each fault, and the longest part of them.
_EXAMPLES, _SHOWN = 3, 200


def build(workspace: Workspace, dataset: PageDataset, import_report: gr.HTML) -> None:
    """Build this part of the page; called inside it. `import_report`: what an import has
    found, after which the captions are checked."""
    faults = gr.HTML(elem_id="caption-faults", padding=False)
    with gr.Row():
        check = gr.Button("Check the captions", elem_id="lint-start", size="sm")
        undo = gr.Button("Undo the last mend", elem_id="mend-undo", size="sm", visible=False)
    with gr.Row(visible=False) as mending:
        which = gr.Dropdown([], label="Fix", elem_id="mend-which")
        look = gr.Button("Preview", elem_id="mend-preview")
        mend = gr.Button("Fix", variant="primary", elem_id="mend-start")
    status = gr.HTML(elem_id="lint-status")
    message = gr.HTML(elem_id="mend-message")

    def draw(dataset_id: int | None, request: gr.Request) -> tuple[str, Any, Any, Any]:
        """The faults, those that can be mended, what mends them, and what undoes that."""
        if dataset_id is None:
            return "", gr.Dropdown([]), gr.Row(visible=False), gr.Button(visible=False)
        space = seen_by(workspace, request)
        html, names = findings(space, dataset_id)
        first = names[0] if names else None
        has_edit = workspace.review.has_edit(dataset_id, request.username or None)
        return (
            html, gr.Dropdown(names, value=first), gr.Row(visible=bool(names)),
            gr.Button(visible=has_edit),
        )  # fmt: skip

    def edit(dataset_id: int | None, name: str | None, applies: bool, request: gr.Request) -> str:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        space = seen_by(workspace, request)
        author = request.username or workspace.settings.author
        report = edit_captions(
            space.store,
            space.review.filter_of(chosen_id, _queue(name or "")),
            change_each(find_mend(name or "")),
            author if applies else None,
        )
        return fix_preview_html(report, applies)

    def preview(dataset_id: int | None, name: str | None, request: gr.Request) -> str:
        return edit(dataset_id, name, False, request)

    def mend_faults(dataset_id: int | None, name: str | None, request: gr.Request) -> str:
        return edit(dataset_id, name, True, request)

    def undone(dataset_id: int | None, request: gr.Request) -> str:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        author = request.username or workspace.settings.author
        act = workspace.review.undo_edit(chosen_id, author)
        if act is None:
            return note("No edit of yours is in effect.")
        return note(f"{count_of(act.together, 'caption')} as before.", "good")

    redraw = (draw, [dataset], [faults, which, mending, undo])
    start_by(check, status, workspace, dataset, "lint", redraw, on_change=import_report)
    look.click(**event_kwargs(preview, [dataset, which], [message], message))
    for button, act, inputs in ((mend, mend_faults, [dataset, which]), (undo, undone, [dataset])):
        button.click(**event_kwargs(act, inputs, [message], message)).then(*redraw, **QUIET)
    gr.on(None, *redraw, **QUIET)


def fix_preview_html(done: EditView, is_applied: bool) -> str:
    """What a mend would change, or has changed."""
    changes = [difference(example.before, example.after) for example in done.examples]
    return render_in("lint_mend.html", done=done, applied=is_applied, changes=changes)


def findings(workspace: Workspace, dataset_id: int) -> tuple[str, list[str]]:
    """The faults in the dataset's captions, as the reader of the workspace may see them, and the
    names of those that can be mended. Each is a tag, so what is shown is what is there now."""
    tags = workspace.review.tags(dataset_id)
    faults, mendable = list[dict[str, Any]](), list[str]()
    for tag, pairs in sorted(tags.items(), key=lambda each: -each[1]):
        name = tag.removeprefix(PREFIX)
        if not tag.startswith(PREFIX) or name not in FAULTS:
            continue
        fields = _queue(name)
        rows = workspace.review.queue_page(workspace.review.filter_of(dataset_id, fields)).rows
        captions = list(dict.fromkeys(row.corrected_caption or row.caption for row in rows))
        can_be_mended = name in RULES and RULES[name].mend is not None
        faults.append(
            {
                "name": name, "about": FAULTS[name], "pairs": pairs, "can_be_mended": can_be_mended,
                "address": f"?dataset={dataset_id}&{as_query(fields)}",
                "examples": [caption[:_SHOWN] for caption in captions[:_EXAMPLES]],
            }
        )  # fmt: skip
        mendable += [name] if can_be_mended else []
    result = workspace.jobs.last_result("lint", dataset_id)
    html = render_in(
        "lint_faults.html", faults=faults, looked_at=result.get("pairs"),
        shared=result.get("shared_words", []),
        languages=languages_in_words(found, result["pairs"])
        if (found := result.get("languages")) else "",
    )  # fmt: skip
    return html, mendable


def _queue(name: str) -> dict[str, str]:
    """The fields of the queue of a fault's pairs."""
    return {"tag": f"{PREFIX}{name}", "review": "all", "order": "position"}


PART = PagePart("import", build)
