"""In place: what would be written into the source, and writing it."""

from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup
from pydantic import TypeAdapter

from backend.errors import SettingsError
from backend.features.in_place.report import ApplyReport
from backend.workspace import Workspace
from db.queries import dataset_queries
from traced_ui.jobs import start_by
from traced_ui.login import seen_by
from traced_ui.messages import QUIET
from traced_ui.page_actions import AddedActions, PageAction, PageActions, Parts
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.templates import renderer_of

_render = renderer_of(Path(__file__).with_name("templates"))
_REPORT = TypeAdapter(ApplyReport)
_FIELDS = tuple(ApplyReport.__dataclass_fields__)
#: Characters of the changes and files left alone that the page shows.
_SHOWN, _LISTED = 20_000, 50


def build(workspace: Workspace, dataset: PageDataset) -> None:
    """Build the page: first the changes are shown, then they may be written."""
    report = gr.HTML(elem_id="in-place-report", padding=False)
    with gr.Row(elem_id="in-place-decide", elem_classes="decision-row"):
        show = gr.Button("Show the changes", variant="primary", elem_id="in-place-show")
        write = gr.Button("Write them into the source", interactive=False, elem_id="in-place-write")
        back = gr.Button("Put the files back", visible=False, elem_id="in-place-back")
    status = gr.HTML(elem_id="in-place-status")
    yes = gr.State(value=True)

    def draw(dataset_id: int | None, request: gr.Request) -> tuple[Any, ...]:
        hidden = gr.Button(visible=False)
        if dataset_id is None:
            return "", hidden, hidden, hidden
        if reason := _why_not(workspace, dataset_id, names_folders=not request.username):
            return report_html(None, reason), hidden, hidden, hidden
        last = last_report(seen_by(workspace, request), dataset_id)
        can_write = last is not None and last.is_dry_run and last.captions > 0
        return (
            report_html(last),
            gr.Button(visible=True, variant="secondary" if can_write else "primary"),
            gr.Button(
                visible=True,
                interactive=can_write,
                variant="primary" if can_write else "secondary",
            ),
            gr.Button(visible=_is_written(workspace, dataset_id)),
        )

    redraw = (draw, [dataset], [report, show, write, back])
    start_by(show, status, workspace, dataset, "apply", redraw, dry_run=yes)
    start_by(write, status, workspace, dataset, "apply", redraw)
    start_by(back, status, workspace, dataset, "apply", redraw, undo=yes)
    gr.on(None, *redraw, **QUIET)


def _why_not(workspace: Workspace, dataset_id: int, names_folders: bool) -> str:
    """Why nothing can be written into the source; "" if it can. `names_folders`: of this machine,
    which not everybody may see."""
    from backend.features.in_place.applying import why_not  # which pages need no sooner

    reason = why_not(workspace.store, dataset_id, workspace.settings.data_directory)
    if reason and not names_folders:
        return "The source cannot be written by this program. Export the dataset instead."
    return reason


def _is_written(workspace: Workspace, dataset_id: int) -> bool:
    """Whether files can be put back."""
    from backend.features.in_place.applying import can_put_back  # as above

    return can_put_back(workspace.store, dataset_id, workspace.settings.data_directory)


def last_report(workspace: Workspace, dataset_id: int) -> ApplyReport | None:
    """What the newest run reported, as the reader of the workspace may see it."""
    last = workspace.jobs.last("apply", dataset_id)
    result = last.result if last is not None and last.status == "done" else {}
    if "captions" not in result:
        return None
    return _REPORT.validate_python({name: result[name] for name in _FIELDS})


def report_html(report: ApplyReport | None, reason: str = "") -> Markup:
    """`reason`: why nothing can be written."""
    lines = report.diff[:_SHOWN].split("\n") if report and report.diff else []
    is_whole = bool(report and report.diff_is_whole and len(report.diff) <= _SHOWN)
    return _render(
        "in_place.html", report=report, reason=reason, lines=lines, is_whole=is_whole, most=_LISTED
    )


def take_changes(page: PageActions, act: PageAction) -> Parts:
    """Import the source again in the background, with what other tools have changed there."""
    from backend.features.in_place.applying import may_import  # as above

    dataset = page.workspace.store.read(dataset_queries.get_dataset, int(page.state.dataset or 0))
    has_login = page.workspace.folders is not None
    if not may_import(dataset, page.workspace.settings, has_login):
        raise SettingsError("The source cannot be imported from this page.")
    page.workspace.jobs.start(
        "import", None, path=dataset.source, name=dataset.name, update="take",
        **dataset.read_options,
    )  # fmt: skip
    page.say("Importing the changes in the source. See Activity.")
    return {"toast": page.toast}


ACTIONS = AddedActions(handlers={"take-changes": take_changes})
PAGE = AddedPage(
    Page("in-place", "In place"), "Export", build, Path(__file__).with_name("in_place.css")
)
