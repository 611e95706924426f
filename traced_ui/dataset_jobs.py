"""Datasets page: start jobs from its buttons, and follow them until they end."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import gradio as gr

from backend.errors import SettingsError
from backend.workspace import Workspace
from traced_ui import models_page
from traced_ui.dataset_messages import ended_html
from traced_ui.events import event_value
from traced_ui.import_form import FIELDS, import_options
from traced_ui.jobs import Started, begin, followed, job_html
from traced_ui.markup import pairs_text


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

    def begin_scoring(
        self, dataset_id: int | None, model: str | None, which: str, anyway: bool,
        captioner: bool, request: gr.Request,
    ) -> Started:  # fmt: skip
        arguments = self._scoring(dataset_id, model, which, anyway, captioner, request)
        if "model" in arguments or captioner:
            arguments["download"] = True
        return begin(self.workspace, "score", dataset_id, **arguments)

    def begin_estimate(
        self, dataset_id: int | None, model: str | None, which: str, anyway: bool,
        captioner: bool, request: gr.Request,
    ) -> Started:  # fmt: skip
        arguments = self._scoring(dataset_id, model, which, anyway, captioner, request)
        return begin(self.workspace, "estimate", dataset_id, **arguments)

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
        dataset_id, asks, selected = job.dataset_id, job.asks_for_model, {}
        if job.status == "done" and job.kind == "import":
            dataset_id, asks = job.result["dataset_id"], bool(job.result.get("asks_for_model"))
            selected = {"value": dataset_id}
        return Update(
            **{place: ended_html(job)},
            timer=gr.Timer(active=False),
            dataset=gr.Dropdown(choices=choices(self.workspace), **selected),
            model=models_offered(self.workspace, dataset_id, asks, model or "")
            if asks or selected
            else gr.skip(),
            unusual=gr.Accordion(open=True)
            if job.kind == "import" and job.status == "failed"
            else gr.skip(),
        )

    def _scoring(
        self, dataset_id: int | None, model: str | None, which: str, anyway: bool,
        captioner: bool, request: gr.Request,
    ) -> dict[str, Any]:  # fmt: skip
        """The arguments of a job that scores or estimates, without the defaults."""
        arguments: dict[str, Any] = {}
        if anyway:
            arguments["anyway"] = True
        if which:
            arguments["trajectories"] = which
        if captioner:
            arguments["captioner"] = "auto"
        if model and dataset_id is not None:
            arguments["model"] = models_page.chosen_by(self.workspace, model, request)
        return arguments


def choices(workspace: Workspace) -> list[tuple[str, int]]:
    """The datasets, as choices of a dropdown."""
    return [
        (f"{summary.name} ({pairs_text(summary.total)})", summary.id)
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
