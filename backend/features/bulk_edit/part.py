"""Editing many captions on the review page: a form, its preview, and the edit."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from backend.counts import count_of
from backend.errors import SettingsError
from backend.features.bulk_edit.applying import BulkEdit
from backend.features.bulk_edit.editing import edit_queue
from backend.review.views import EditView
from traced_ui.differences import difference
from traced_ui.keyboard import Key
from traced_ui.overview import GridButton
from traced_ui.page_actions import (
    AddedActions,
    FilledForm,
    PageActions,
    Parts,
    Selection,
    changed_meanwhile,
)
from traced_ui.templates import renderer_of

render_in = renderer_of(Path(__file__).with_name("templates"))
#: Maximum number of captions that a page edits synchronously.
MOST_EDITED = 100_000
#: Which captions an edit applies to.
SCOPES = {
    "queue": "all of this queue, with its filters",
    "selected": "those selected in the grid",
    "dataset": "the whole dataset",
}


def open_form(page: PageActions, act: Selection) -> Parts:
    """The empty form."""
    scope = "selected" if act.pairs else "queue"
    return {"edit": form({"scope": scope}, vague=_count_vague(page))}


def edit(page: PageActions, act: FilledForm) -> Parts:
    """Preview an edit of many captions, or apply it."""
    scope = str(act.edit.get("scope"))
    if scope not in SCOPES:
        raise SettingsError(f"There is no '{scope[:40]}' to edit.")
    pairs = tuple(card.pair for card in act.pairs)
    if scope == "selected" and not pairs:
        raise SettingsError("No pair is selected: choose some in the grid (G).")
    if scope == "queue":
        page.check_queue()
        page.bring_skipped_back()
    fields = page.queue_of(act) if scope == "queue" else {"review": "all", "order": "position"}
    filter = page.review.filter_of(int(page.state.dataset or 0), fields)
    if scope == "selected":
        filter = replace(filter, among=pairs)
    if page.review.queue_count(filter, MOST_EDITED + 1) > MOST_EDITED:
        raise SettingsError(
            f"There are more than {MOST_EDITED:,} captions. Narrow the queue with filters, and "
            "edit it in several steps."
        )
    author = page.author if act.action == "edit-apply" else None
    report = edit_queue(
        page.workspace.store, filter, edit_in(act.edit), author, request_id=act.request
    )
    if author is None:
        return {"toast": page.toast, "edit": form(act.edit, report, _count_vague(page))}
    page.state.after = None
    page.state.advance()
    undo = f" Press Z to undo {'it' if report.changed == 1 else 'them all'}."
    page.say(
        f"{count_of(report.changed, 'caption')} changed.{undo if report.changed else ''}"
        + changed_meanwhile(report.passed_over),
        "good",
    )
    return {**page.parts(), "edit": ""}


def edit_in(entries: Mapping[str, Any]) -> BulkEdit:
    """The edit that the form describes."""
    texts = {name: str(entries.get(name) or "") for name in ("find", "replace", "prefix", "suffix")}
    return BulkEdit(
        **texts,
        is_regex=bool(entries.get("regex")),
        ignore_case=bool(entries.get("case")),
        remove_vague=bool(entries.get("vague")),
    )


def form(entries: Mapping[str, Any], plan: EditView | None = None, vague: int = 0) -> Markup:
    """The form as filled in, with a preview of the edit if `plan` is given. `vague`: the
    captions of the dataset that have vague claims, as the filter counts them."""
    examples = (
        [(example, difference(example.before, example.after)) for example in plan.examples]
        if plan
        else []
    )
    return render_in(
        "edit_form.html", given=entries, plan=plan, examples=examples, scopes=SCOPES, vague=vague
    )


def _count_vague(page: PageActions) -> int:
    fields = {"review": "all", "order": "position", "vague": "yes"}
    return page.review.queue_count(page.review.filter_of(int(page.state.dataset or 0), fields))


_KEY = Key(("f", "F"), "replace", "F", "edit many captions: find and replace, prefix, suffix")
ACTIONS = AddedActions(
    handlers={"replace": open_form, "edit-preview": edit, "edit-apply": edit},
    writing=("edit-apply",),
    forms=("replace",),
    keys=(_KEY,),
    buttons=(GridButton("replace", _KEY.shown, "Edit", "One edit for their captions"),),
)
