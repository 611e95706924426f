"""Duplicates page: groups of near-identical pictures. Keep one, drop the others.

The browser sends the pairs and the versions that the curator saw; pairs decided in the meantime are
not changed.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import gradio as gr

from backend.counts import count_of
from backend.errors import SettingsError
from backend.features.near_duplicates.choosing import (
    DuplicatesView,
    KeptView,
    groups_of,
    keep_one,
)
from backend.features.near_duplicates.operation import DuplicatesOptions
from backend.workspace import Workspace
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET, event_value, explain_on_page, note
from traced_ui.option_fields import field
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.review_labels import LISTED
from traced_ui.templates import part, renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))
SCRIPT = Path(__file__).with_name("near_duplicates.js")
#: Groups per page, and pictures shown per group.
AT_ONCE, SHOWN = 20, 9
UNDECIDED_GROUPS = "undecided groups"
SHOWS = {UNDECIDED_GROUPS: True, "all groups": False}


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    with gr.Row(elem_id="duplicates-controls"):
        show = gr.Radio(
            list(SHOWS), value=UNDECIDED_GROUPS, label="Show", elem_id="duplicates-show"
        )
        threshold = field(
            DuplicatesOptions, "threshold", "Minimum similarity (cosine)", component=gr.Number,
            step=0.005, elem_id="duplicates-threshold", min_width=230, scale=0,
        )  # fmt: skip
        start = gr.Button(
            "Find near duplicates", elem_id="duplicates-start", scale=0, min_width=190
        )
    status = gr.HTML(elem_id="duplicates-status")
    toast = gr.HTML(elem_id="duplicates-toast")
    page = gr.HTML(elem_id="duplicates-page")
    after = gr.State(None)
    bus = gr.HTML("", elem_id="duplicates-bus", js_on_load=SCRIPT.read_text(encoding="utf-8"))

    def draw(
        dataset_id: int | None, groups_shown: str, request: gr.Request
    ) -> tuple[str, str, None]:
        return "", page_html(seen_by(workspace, request), dataset_id, groups_shown), None

    def act(
        event: gr.EventData,
        dataset_id: int | None,
        groups_shown: str,
        place: int | None,
        request: gr.Request,
    ) -> tuple[Any, Any, Any]:
        """Handle one key or click."""
        visible_workspace = seen_by(workspace, request)
        if dataset_id is None:
            return "", page_html(visible_workspace, None, groups_shown), None
        try:
            message, place = _perform(visible_workspace, dataset_id, event, place, request)
        except Exception as error:
            return note(explain_on_page(error), "warning"), gr.skip(), gr.skip()
        return message, page_html(visible_workspace, dataset_id, groups_shown, place), place

    bus.keypress(
        act, [dataset, show, after], [toast, page, after], trigger_mode="multiple",
        **QUIET,
    )  # fmt: skip
    redraw = (draw, [dataset, show], [toast, page, after])
    show.change(*redraw, trigger_mode="always_last", **QUIET)
    start_by(start, status, workspace, dataset, "duplicates", redraw, threshold=threshold)
    return redraw


def _perform(
    workspace: Workspace,
    dataset_id: int,
    event: gr.EventData,
    place: int | None,
    request: gr.Request,
) -> tuple[str, int | None]:
    """Perform the action; return a message, and the group after which the page begins."""
    author = request.username or workspace.settings.author
    action = str(event_value(event, "action", ""))
    if action == "keep":
        versions = [(int(pair), int(version)) for pair, version in event_value(event, "seen", ())]
        group, kept_pair = int(event_value(event, "group", 0)), int(event_value(event, "pair", 0))
        outcome = keep_one(workspace.store, dataset_id, group, kept_pair, versions, author)
        return note(kept_message(outcome), "good" if outcome.dropped else "info"), place
    if action in ("undo", "redo"):
        is_undo = action == "undo"
        move = workspace.review.undo if is_undo else workspace.review.redo
        verdict = move(dataset_id, author, str(event_value(event, "request", ""))[:32] or None)
        if verdict is None:
            return note(f"There is nothing to {action}."), place
        text = f"{'Undone' if is_undo else 'Redone'}: {count_of(verdict.together)}."
        return note(text, "good"), place
    if action == "next-page":
        return "", int(event_value(event, "after", 0))
    if action == "first-page":
        return "", None
    raise SettingsError(f"There is no action '{action[:40]}'.")


def kept_message(done: KeptView) -> str:
    """A report on the other pictures of a group."""
    dropped_text = f"Kept. {count_of(done.dropped)} removed."
    message = dropped_text if done.dropped else "Nothing was removed."
    if done.left_alone:
        message += f" Not changed, with another verdict: {count_of(done.left_alone)}."
    if done.passed_over:
        message += f" Not changed, decided in the meantime: {count_of(done.passed_over)}."
    return message + (" Press Z to undo." if done.dropped else "")


def page_html(
    workspace: Workspace, dataset_id: int | None, groups_shown: str, after: int | None = None
) -> str:
    """A page of groups."""
    if dataset_id is None:
        return ""
    only_open = SHOWS.get(groups_shown, True)
    view = groups_of(workspace.store, dataset_id, only_open, after, AT_ONCE)
    if view is None:
        return part(
            "empty", "Near duplicates have not been searched for yet",
            "The search uses the vectors stored by scoring; no picture is opened.",
        )  # fmt: skip
    if not view.groups and after is not None:
        # The page's last group has been decided.
        return page_html(workspace, dataset_id, groups_shown)
    if not view.groups:
        compared = count_of(view.compared, "compared picture")
        text = f"Of {compared}, no two have a similarity of {view.threshold:g} or more."
        if view.group_count:
            text = f"Nothing is undecided in {count_of(view.group_count, 'group')}."
        return part("empty", "Nothing to choose from", text)
    rows = [row for group in view.groups for picture in group.pictures for row in picture.rows[:1]]
    return groups_html(
        view, dataset_id, after is None, workspace.review.is_unfamiliar(dataset_id),
        workspace.review.languages_not_read(dataset_id, rows),
    )  # fmt: skip


def groups_html(
    view: DuplicatesView,
    dataset_id: int,
    is_first_page: bool,
    is_unfamiliar: bool = False,
    unread: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """Groups as rows of pictures. `is_unfamiliar`, `unread`: as in `QueuePanel`."""
    versions = {
        group.id: [
            [row.pair_id, row.verdict_version] for picture in group.pictures
            for row in picture.rows
        ]
        for group in view.groups
    }  # fmt: skip
    return render_in(
        "groups.html", view=view, dataset_id=dataset_id, seen=versions, shown=SHOWN,
        short=LISTED, is_first_page=is_first_page, is_unfamiliar=is_unfamiliar,
        unread=unread,
    )  # fmt: skip


PAGE = AddedPage(
    Page("duplicates", "Duplicates"),
    "Explore",
    build,
    Path(__file__).with_name("near_duplicates.css"),
)
