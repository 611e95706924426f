"""Datasets page: start jobs from its buttons, follow them until they end, and say what they did."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import gradio as gr
from markupsafe import Markup

from backend.datasets.read_options import HIDE, TAKE, TICKS
from backend.engine.trajectories.depth import ALL
from backend.errors import SettingsError
from backend.jobs.reports import JobView
from backend.progress import duration
from backend.workspace import Workspace
from traced_ui import models_page
from traced_ui.import_form import FIELDS, import_options
from traced_ui.jobs import Started, begin, followed, job_html
from traced_ui.messages import event_value, note
from traced_ui.templates import counted


class Update(NamedTuple):
    """What following a job changes on the page; `gr.skip()` for what stays. `report`: what an
    import says; `status`: what any other job says; `unusual`: the fold of an import's options."""

    report: Any = gr.skip()
    status: Any = gr.skip()
    timer: Any = gr.skip()
    dataset: Any = gr.skip()
    model: Any = gr.skip()
    unusual: Any = gr.skip()


class DatasetJobs:
    """The handlers of the page's buttons."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def begin_import(self, path: str | None, *values: str | bool | None) -> Started:
        """`values`: the import options, in the order of `FIELDS`."""
        source = (path or "").strip()
        if not source:
            raise SettingsError("Enter a folder or a file first.")
        entered = dict(zip(FIELDS, values, strict=True))
        started = self.workspace.jobs.start("import", None, path=source, **import_options(entered))
        return followed(self.workspace, started)

    def uploaded(self, event: gr.EventData) -> Started:
        """Follow the import job started by an upload, like that of any other import."""
        return followed(self.workspace, int(event_value(event, "job", 0)))

    def starting(self, kind: str) -> Callable[[int | None], Started]:
        """The handler that starts a job of this kind."""
        return functools.partial(begin, self.workspace, kind)

    def scoring(self, kind: str) -> Callable[..., Started]:
        """The handler that starts a job of the kind "score" or "estimate", without the defaults."""

        def start(
            dataset_id: int | None, model: str | None, which: str, anyway: bool, captioner: bool,
            request: gr.Request,
        ) -> Started:  # fmt: skip
            arguments: dict[str, Any] = {}
            if anyway:
                arguments["anyway"] = True
            if which:
                arguments["trajectories"] = which
            if captioner:
                arguments["captioner"] = "auto"
            if model and dataset_id is not None:
                arguments["model"] = models_page.chosen_by(self.workspace, model, request)
            if kind == "score" and ("model" in arguments or captioner):
                arguments["download"] = True
            return begin(self.workspace, kind, dataset_id, **arguments)

        return start

    def models(self, dataset_id: int | None, model: str | None = None) -> gr.Dropdown:
        """The models to score with. `chosen`: the choice on the page, which is kept; None: there
        is none for this dataset yet."""
        jobs = self.workspace.jobs
        last = jobs.last_scoring(dataset_id) if dataset_id is not None else None
        asks = last is not None and last.asks_for_model
        return models_offered(self.workspace, dataset_id, asks and model is None, model or "")

    def watch(self, started: int | None, model: str | None = "") -> Update:
        """The state of the job that the page follows. `chosen`: as for `models_offered`."""
        if started is None:
            return Update(timer=gr.Timer(active=False))
        job = self.workspace.jobs.job(started)
        place = "report" if job.kind == "import" else "status"
        if not job.has_ended:
            return Update(**{place: job_html(job)})
        dataset_id, asks, selected = job.dataset_id, job.asks_for_model, None
        if job.status == "done" and job.kind == "import":
            dataset_id, asks = job.result["dataset_id"], bool(job.result.get("asks_for_model"))
            selected = dataset_id
        return Update(
            **{place: ended_html(job)},
            timer=gr.Timer(active=False),
            dataset=selected or gr.skip(),
            model=models_offered(self.workspace, dataset_id, asks, model or "")
            if asks or selected
            else gr.skip(),
            unusual=gr.Accordion(open=True)
            if job.kind == "import" and job.status == "failed"
            else gr.skip(),
        )


def choices(workspace: Workspace) -> list[tuple[str, int]]:
    """The datasets, as choices of a dropdown."""
    return [
        (f"{summary.name} ({counted(summary.total)})", summary.id)
        for summary in workspace.datasets()
    ]


def models_offered(
    workspace: Workspace, dataset_id: int | None, asks: bool, model: str = ""
) -> gr.Dropdown:
    """The models to score the dataset with. `asks`: its model does not know its pictures, so
    another one is selected unless `model` is one."""
    summary = workspace.summary(dataset_id) if dataset_id is not None else None
    pairs, is_new = (summary.total, not summary.scored) if summary is not None else (0, True)
    recommended = models_page.suggested(workspace.models.listed()) if asks else ""
    entries = models_page.choices(workspace, pairs, recommended, is_new)
    return gr.Dropdown(choices=entries, value=model or recommended)


def ended_html(job: JobView) -> Markup:
    """The result of a job that has ended, or why it failed."""
    if job.status != "done":
        return job_html(job)
    if job.kind == "import":
        return imported_note(job.result)
    message = _MESSAGES[job.kind](job.result) if job.kind in _MESSAGES else ""
    if job.kind == "score":
        return job_html(job) + (note(message, "good") if message else "")
    return note(message, "good") if message else job_html(job)


def support_message(result: dict[str, Any]) -> str:
    """The result of a support job, with its notes."""
    message = (
        f"{counted(result['computed'])} measured now, {result['untested']} without a phrase to "
        "test. Sort the queue by 'empty phrases first'."
    )
    return " ".join([message, *(f"Note: {line}." for line in result["notes"])])


def depth_message(result: dict[str, Any]) -> str:
    """A note on trajectories with only their first step; "" if all are whole."""
    if result.get("trajectories", ALL) == ALL:
        return ""
    return (
        f"Every pair has the first step of its trajectory, which is enough to rank them; "
        f"{result['completed']:,} whole trajectories were computed. Others are computed when a "
        "pair is opened."
    )


def estimate_message(result: dict[str, Any]) -> str:
    """The time, disk space and memory that scoring needs, as estimated by a job."""
    copies = f" and {result['copies']:,} noisy copies" if result["copies"] else ""
    corrected = result.get("suggestions", 0)
    corrections = f", corrections of about {corrected:,} of them" if corrected else ""
    if result.get("trajectories", ALL) != ALL:
        corrections += f", whole trajectories for {result['whole']:,}, first steps for the others"
    return (
        f"About {duration(result['seconds'])} for {counted(result['pairs'])}{copies}{corrections}, "
        f"{result['disk'] / 1e6:,.0f} MB of disk and {result['memory'] / 1e9:.1f} GB of memory, "
        f"measured on {counted(result['measured'])}."
    )


def quality_message(result: dict[str, Any]) -> str:
    """The image quality issues counted by a job."""
    issues = ", ".join(
        f"{count:,} {issue.replace('_', ' ')}" for issue, count in result["issues"].items() if count
    )
    unreadable = f" {result['unreadable']:,} cannot be read." if result["unreadable"] else ""
    advice = " Filter the queue by “Picture is”." if issues else ""
    return (
        f"{counted(result['measured'], 'picture')} checked now. In the whole dataset: "
        f"{issues or 'no issues'}.{unreadable}{advice}"
    )


def imported_note(imported: dict[str, Any]) -> Markup:
    """The result of an import, including what it decided automatically (encoding, ids)."""
    changes = imported.get("changes") or {}
    counts = ", ".join(f"{n:,} {kind}" for kind, n in changes.items() if any(changes.values()))
    message = (
        f"'{imported['name']}': {counted(imported['added'])} added, "
        f"{imported['already_there']} already there, {counted(imported['problems'], 'row')} left "
        "out."
        + (" Find its errors next." if imported["added"] else "")
        + (f" Compared with the last import: {counts}." if counts else "")
    )
    notes = [*imported["notes"], *_advice(imported)]
    if imported.get("asks_for_model"):
        notes.append(
            f"{imported['asks_for_model']} Choose another under 'Model', then find errors."
        )
    return note(" ".join((message, *notes)), "warning" if imported["problems"] or notes else "good")


def _advice(imported: dict[str, Any]) -> list[str]:
    """What another import could do about rows that changed or are gone."""
    changes = imported.get("changes") or {}
    differs = changes.get("changed") or imported.get("unproved")
    entries = []
    if differs and imported.get("update") != "take":
        entries.append(f"To take the changes, tick “{TICKS[TAKE]}” and import again.")
    if changes.get("gone") and not imported.get("hidden"):
        entries.append(f"To hide what is gone, tick “{TICKS[HIDE]}” and import again.")
    return entries


_MESSAGES = {
    "support": support_message,
    "estimate": estimate_message,
    "score": depth_message,
    "quality": quality_message,
}
