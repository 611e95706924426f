"""Models page: available models, their cost on this machine, download and removal."""

from typing import Any

import gradio as gr

from backend.errors import SettingsError
from backend.jobs.model_manager import ModelView
from backend.jobs.pace import duration
from backend.workspace import Workspace
from traced_ui.jobs import job_html
from traced_ui.messages import guarded, note
from traced_ui.templates import render


def build(workspace: Workspace) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    table = gr.HTML(elem_id="models-table")
    with gr.Row():
        with gr.Column(scale=2, min_width=320):
            model = gr.Dropdown(
                [], label="Model", allow_custom_value=True, elem_id="models-choice",
                info="One of the table, the name of another on Hugging Face, or a folder.",
            )  # fmt: skip
        with gr.Column(scale=3, min_width=320):
            with gr.Row():
                get = gr.Button("Download", variant="primary", elem_id="models-download")
                measure = gr.Button("Measure its time here", elem_id="models-probe")
            with gr.Row():
                choose = gr.Button("Use for new datasets", elem_id="models-default")
                drop = gr.Button("Remove from this machine", elem_id="models-remove")
    message = gr.HTML(elem_id="models-message")
    job_id = gr.State(None)
    timer = gr.Timer(1.0, active=False)

    def draw(chosen: str | None) -> tuple[str, Any]:
        views = workspace.models.listed()
        names = [view.name for view in views]
        return models_html(views), gr.Dropdown(choices=names, value=chosen or names[0])

    def begin(kind: str, chosen: str | None, request: gr.Request) -> tuple[int, str, Any]:
        name = chosen_by(workspace, chosen, request)
        started = workspace.jobs.start(kind, None, model=name)
        return started, job_html(workspace.jobs.job(started)), gr.Timer(active=True)

    @guarded
    def download(chosen: str | None, request: gr.Request) -> tuple[int, str, Any]:
        return begin("download", chosen, request)

    @guarded
    def probe(chosen: str | None, request: gr.Request) -> tuple[int, str, Any]:
        return begin("probe", chosen, request)

    @guarded
    def watch(started: int | None, chosen: str | None) -> tuple[Any, Any, Any]:
        if started is None:
            return gr.skip(), gr.Timer(active=False), gr.skip()
        job = workspace.jobs.job(started)
        if not job.has_ended:
            return job_html(job), gr.skip(), gr.skip()
        shown: Any = job_html(job)
        if job.status == "done":
            shown = note(done_message(job.kind, job.result), "good")
        return shown, gr.Timer(active=False), draw(chosen)[0]

    @guarded
    def make_default(chosen: str | None, request: gr.Request) -> tuple[str, str]:
        name = chosen_by(workspace, chosen, request)
        workspace.models.set_default(name)
        text = f"From the next start on, datasets without a model are scored with '{name}'."
        return note(text, "good"), draw(chosen)[0]

    @guarded
    def remove(chosen: str | None, request: gr.Request) -> tuple[str, str]:
        name = chosen_by(workspace, chosen, request)
        freed = workspace.models.remove(name)
        return note(f"'{name}' is removed; {size(freed)} are free again.", "good"), draw(chosen)[0]

    options: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
    get.click(download, [model], [job_id, message, timer], **options)
    measure.click(probe, [model], [job_id, message, timer], **options)
    timer.tick(watch, [job_id, model], [message, timer, table], **options)
    choose.click(make_default, [model], [message, table], **options)
    drop.click(remove, [model], [message, table], **options)
    return draw, [model], [table, model]


def chosen_by(workspace: Workspace, model: str | None, request: gr.Request) -> str:
    """The chosen model. Raises SettingsError if there is none or the user may not change models."""
    if request.username and not workspace.accounts.may_settle(request.username):
        raise SettingsError("Only an adjudicator may change the models of this machine.")
    if not (model or "").strip():
        raise SettingsError("Choose a model first.")
    return str(model).strip()


def models_html(views: list[ModelView]) -> str:
    """The table of models."""
    return render("models.html", views=views, size=size, minutes=duration)


def size(count: int) -> str:
    """
    >>> size(605_000_000), size(1_480_000_000), size(420_000)
    ('605 MB', '1.5 GB', '0.4 MB')
    """
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.{count < 1e7:d}f} MB"


def done_message(kind: str, result: dict[str, Any]) -> str:
    """The result of a model job."""
    if kind == "probe":
        return (
            f"'{result['model']}' takes {duration(result['seconds'])} for a thousand pairs on this "
            f"machine and {size(result['memory'])} of memory."
        )
    names = ", ".join(f"{name} at {commit[:12]}" for name, commit in result["models"])
    return f"On this machine now: {names}."


def choices(workspace: Workspace, pairs: int) -> list[tuple[str, str]]:
    """Dropdown entries (label, model) for scoring `pairs` pairs: the dataset's own model first,
    then each model with its estimated cost."""
    known = [("the dataset's own model", "")]
    return known + [(_offer(view, pairs), view.name) for view in workspace.models.listed()]


def _offer(view: ModelView, pairs: int) -> str:
    parts = [view.name]
    if not view.is_here:
        parts.append(f"{size(view.download)} to download" if view.download else "to download")
    if view.probe is not None:
        parts.append(f"about {duration(view.probe.seconds * pairs / 1000)} for {pairs:,} pairs")
    return " · ".join(parts)
