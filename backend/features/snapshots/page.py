"""Snapshots: take one, compare two of them or one with the dataset as it is now, bring one back."""

from pathlib import Path
from typing import Any

import gradio as gr
from pydantic import TypeAdapter

from backend.counts import count_of
from backend.errors import SettingsError
from backend.features.snapshots.comparing import KINDS, DiffReport, SnapshotReport
from backend.features.snapshots.operation import SnapshotOptions
from backend.review.verdicts import RESTORE
from backend.verdict_texts import UNDECIDED, word_of
from backend.workspace import Workspace
from traced_ui.dataset_settings import dataset_to_change
from traced_ui.differences import difference
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_kwargs, note
from traced_ui.option_fields import field
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.templates import part, renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))
_REPORT = TypeAdapter(DiffReport)
#: Jobs among which the newest comparison is looked for: those of others are private.
_RECENT = 50
_RESTORING = (
    "Verdicts and corrected captions of the snapshot come into effect again. Nothing is deleted, "
    "and one click undoes it. What the source says stays as it is."
)
_NOW = ("The dataset as it is now", "")


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    with gr.Row(elem_id="snapshot-take", equal_height=False):
        name = field(SnapshotOptions, "name", "Name of a new snapshot", elem_id="snapshot-name")
        take = gr.Button("Take a snapshot", variant="primary", elem_id="snapshot-start")
    answer = gr.HTML(elem_id="snapshot-status")
    # Below the form, which would move when the list arrives.
    listing = gr.HTML(elem_id="snapshots", padding=False)
    with gr.Column(visible=False, elem_id="snapshot-compare") as comparing:
        with gr.Row():
            before = _choice("Compare", "diff-before")
            after = _choice("With", "diff-after")
        compare = gr.Button("Compare", elem_id="diff-start")
        status = gr.HTML(elem_id="diff-status")
        comparison = gr.HTML(elem_id="diff", padding=False)
        with gr.Accordion("Restore a snapshot", open=False, elem_id="restore"):
            gr.HTML(part("plain", _RESTORING), padding=False, elem_classes="hint")
            which = _choice("Snapshot", "restore-name")
            with gr.Row():
                look = gr.Button("Preview", elem_id="restore-preview")
                restore = gr.Button("Restore", variant="primary", elem_id="restore-start")
            restoring = gr.HTML(elem_id="restore-status")
    # Outside what is folded, so that it is seen after a reload.
    undo = gr.Button("Undo the last restoring", visible=False, elem_id="restore-undo")
    message = gr.HTML(elem_id="restore-message")

    def draw(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        """The list, the choices, the newest comparison, and what undoes a restoring."""
        if dataset_id is None:
            return ("", *(gr.skip() for _ in range(6)))
        space = seen_by(workspace, request)
        report: SnapshotReport = space.jobs.run("snapshot", dataset_id)
        names = [each.name for each in reversed(report.snapshots)]
        newest = names[0] if names else None
        choices = [(each, each) for each in names]
        has_restored = workspace.review.has_edit(dataset_id, request.username or None, RESTORE)
        return (
            listing_html(report), gr.Column(visible=bool(names)),
            gr.Dropdown(choices, value=newest), gr.Dropdown([_NOW, *choices], value=""),
            comparison_html(space, dataset_id), gr.Dropdown(choices, value=newest),
            gr.Button(visible=has_restored),
        )  # fmt: skip

    def store(dataset_id: int | None, name: str, request: gr.Request) -> tuple[str, str]:
        if dataset_id is None:
            raise SettingsError("Choose a dataset at the top first.")
        if not name.strip():
            raise SettingsError("A snapshot needs a name, such as 'before import'.")
        report: SnapshotReport = seen_by(workspace, request).jobs.run(
            "snapshot", dataset_id, name=name.strip()
        )
        return "", note(report.in_words(), "good")

    def restore_note(dataset_id: int | None, request: gr.Request) -> tuple[str, Any]:
        """What the last preview or restoring says, and what undoes it."""
        if dataset_id is None:
            return "", gr.Button(visible=False)
        words = workspace.jobs.last_result("restore", dataset_id).get("in_words")
        has_restored = workspace.review.has_edit(dataset_id, request.username or None, RESTORE)
        return note(words) if words else "", gr.Button(visible=has_restored)

    def undone(dataset_id: int | None, request: gr.Request) -> str:
        chosen_id = dataset_to_change(workspace, dataset_id, request)
        act = workspace.review.undo_edit(chosen_id, request.username or None, RESTORE)
        if act is None:
            return note("No restoring of yours is in effect.")
        return note(f"{count_of(act.together)} as before.", "good")

    redraw = (draw, [dataset], [listing, comparing, before, after, comparison, which, undo])
    storing = event_kwargs(store, [dataset, name], [name, answer], answer)
    gr.on([take.click, name.submit], **storing).then(*redraw, **QUIET)
    diff_redraw = (_compare(workspace), [dataset], [comparison])
    start_by(compare, status, workspace, dataset, "diff", diff_redraw, before=before, after=after)
    report = (restore_note, [dataset], [message, undo])
    for button, is_dry_run in ((look, True), (restore, False)):
        start_by(
            button, restoring, workspace, dataset, "restore", report, name=which,
            dry_run=gr.State(is_dry_run),
        )  # fmt: skip
    undo.click(**event_kwargs(undone, [dataset], [message], message)).then(*redraw, **QUIET)
    return redraw


def _choice(label: str, elem_id: str) -> gr.Dropdown:
    """A snapshot; the choices are those of the dataset."""
    return gr.Dropdown([], label=label, elem_id=elem_id, min_width=280)


def _compare(workspace: Workspace) -> Any:
    def show(dataset_id: int | None, request: gr.Request) -> str:
        if dataset_id is None:
            return ""
        return comparison_html(seen_by(workspace, request), dataset_id)

    return show


def listing_html(report: SnapshotReport) -> str:
    """The snapshots of a dataset, newest first; before the first one, what they are for."""
    return render_in("snapshots.html", snapshots=report.snapshots[::-1])


def comparison_html(workspace: Workspace, dataset_id: int) -> str:
    """The newest comparison that the reader of the workspace may see: how many pairs differ in
    what, and the first of each kind, captions word by word; "" if there is none."""
    comparisons = (
        job
        for job in workspace.jobs.recent(_RECENT)
        if job.kind == "diff" and job.dataset_id == dataset_id and "counts" in job.result
    )
    job = next(comparisons, None)
    if job is None:
        return ""
    report = _REPORT.validate_python(job.result)
    return render_in(
        "snapshots_diff.html", report=report, kinds=KINDS, compared_at=job.updated_at,
        dataset_id=dataset_id, difference=difference, word_of=_word_of,
    )  # fmt: skip


def _word_of(verdict: str) -> str:
    """A verdict of a comparison; "": none."""
    return word_of(verdict) if verdict else UNDECIDED


PAGE = AddedPage(
    Page("snapshots", "Snapshots"), "Export", build, Path(__file__).with_name("snapshots.css")
)
