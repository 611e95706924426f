"""Models page: available models, their cost on this machine, download and removal."""

from collections.abc import Sequence
from typing import Any

import gradio as gr

from backend.engine import threads
from backend.engine.presets import (
    CAPTIONER,
    CAPTIONER_CORE_SECONDS,
    Recommendation,
    recommend,
    rough_seconds,
)
from backend.errors import SettingsError
from backend.jobs.model_manager import ModelView, Removal
from backend.progress import duration
from backend.workspace import Workspace
from traced_ui.confirmation import CLOSED, Confirmation
from traced_ui.jobs import Started, follow, job_html, starting
from traced_ui.messages import QUIET, event_kwargs, event_value, note, selecting
from traced_ui.templates import render


def build(workspace: Workspace) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    message = gr.HTML(elem_id="models-message")
    removal = Confirmation.build("models-removal", "Remove it")
    table = gr.HTML(elem_id="models-table", js_on_load=selecting("model-action"))
    with gr.Accordion("Another model", open=False, elem_id="models-other"):
        model = gr.Dropdown(
            [], label="Model", allow_custom_value=True, elem_id="models-choice",
            info="A Hugging Face name, or a folder on this machine.",
        )  # fmt: skip
        with gr.Row():
            get = gr.Button("Download", variant="primary", elem_id="models-download")
            measure = gr.Button("Measure its speed", elem_id="models-probe")
            choose = gr.Button("Use for new datasets", elem_id="models-default")
            drop = gr.Button("Remove from this machine", elem_id="models-remove")
    job_id, going = gr.State(None), gr.State("")
    timer = gr.Timer(1.0, active=False)

    def draw(model: str | None) -> tuple[str, Any]:
        views = workspace.models.list_models()
        names = [view.name for view in views]
        from backend.engine.scoring.batch_memory import card_memory  # imports torch

        html = models_html(views, recommend(card_memory()))
        return html, gr.Dropdown(choices=names, value=model or names[0])

    def begin(kind: str, model: str | None, request: gr.Request) -> Started:
        name = chosen_by(workspace, model, request)
        return follow(workspace, workspace.jobs.start(kind, None, model=name))

    @starting
    def download(model: str | None, request: gr.Request) -> Started:
        return begin("download", model, request)

    @starting
    def probe(model: str | None, request: gr.Request) -> Started:
        return begin("probe", model, request)

    def watch(job_id: int | None, model: str | None) -> tuple[Any, Any, Any]:
        if job_id is None:
            return gr.skip(), gr.Timer(active=False), gr.skip()
        job = workspace.jobs.job(job_id)
        if not job.has_ended:
            return job_html(job), gr.skip(), gr.skip()
        message: Any = job_html(job)
        if job.status == "done":
            message = note(done_message(job.kind, job.result), "good")
        return message, gr.Timer(active=False), draw(model)[0]

    def make_default(model: str | None, request: gr.Request) -> tuple[str, str]:
        name = chosen_by(workspace, model, request)
        workspace.models.set_default(name)
        text = f"From now on, datasets without a model are scored with '{name}'."
        return note(text, "good"), draw(model)[0]

    def ask(model: str | None, request: gr.Request) -> tuple[str, Any, str, str]:
        """Describe what removing the model would do, and show the confirmation buttons."""
        name = chosen_by(workspace, model, request)
        question = removal_question(workspace.models.deletion_preview(name))
        return name, *removal.ask(question), ""

    def remove(name: str, request: gr.Request) -> tuple[str, Any, str, Any]:
        deletion = workspace.models.remove(chosen_by(workspace, name, request))
        return note(removed_message(deletion), "good"), CLOSED, *draw(None)

    def act(event: gr.EventData, request: gr.Request) -> tuple[Any, ...]:
        """What a button of a row does: (job, timer, going, removal, deletion preview, message,
        table)."""
        name, action = event_value(event, "model", ""), event_value(event, "modelAction", "")
        job = timer = question = column = listing = gr.skip()
        if action in ("download", "probe"):
            job, text, timer = begin(action, name, request)
        elif action == "default":
            text, listing = make_default(name, request)
        elif action == "remove":
            name, column, question, text = ask(name, request)
        else:
            raise SettingsError(f"There is no action '{action[:40]}'.")
        return job, timer, name, column, question, text, listing

    outputs = [going, removal.column, removal.question, message]
    table.select(**event_kwargs(act, None, [job_id, timer, *outputs, table], message))
    get.click(download, [model], [job_id, message, timer], **QUIET)
    measure.click(probe, [model], [job_id, message, timer], **QUIET)
    timer.tick(**event_kwargs(watch, [job_id, model], [message, timer, table], message))
    choose.click(**event_kwargs(make_default, [model], [message, table], message))
    drop.click(**event_kwargs(ask, [model], outputs, message))
    removal.sure.click(
        **event_kwargs(remove, [going], [message, removal.column, table, model], message)
    )
    model.input(lambda: CLOSED, None, [removal.column], **QUIET)
    return draw, [model], [table, model]


def chosen_by(workspace: Workspace, model: str | None, request: gr.Request) -> str:
    """The chosen model. Raises SettingsError if there is none or the user may not change models."""
    if request.username and not workspace.accounts.may_settle(request.username):
        raise SettingsError("Only an adjudicator may change the models of this machine.")
    name = model.strip() if isinstance(model, str) else ""
    if not name:
        raise SettingsError("Choose a model first.")
    return name


def models_html(views: list[ModelView], advice: Sequence[Recommendation] = ()) -> str:
    """The table of models, after those that are recommended for photographs on this machine."""
    return render(
        "models.html", views=views, size=size, minutes=duration, millions=millions, advice=advice,
        rough_seconds=rough_seconds,
    )  # fmt: skip


def millions(parameters: int) -> str:
    """
    >>> millions(151_277_313), millions(47_104)
    ('151 million', '0.047 million')
    """
    count = parameters / 1e6
    return f"{count:,.0f} million" if count >= 1 else f"{count:.2g} million"


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


def removal_question(removal: Removal) -> str:
    """A preview of a model's removal."""
    text = f"Remove '{removal.model}' from this machine? That frees {size(removal.freed)}."
    if removal.datasets:
        names = ", ".join(f"'{name}'" for name in removal.datasets)
        text += f" Scores stay, but nothing new can be scored with it; it is the model of {names}."
    if removal.was_default:
        text += " It is the model for new datasets; the embedded one will take its place."
    return text


def removed_message(removal: Removal) -> str:
    """A report of a model's removal."""
    text = f"'{removal.model}' is removed; {size(removal.freed)} freed."
    if removal.was_default:
        text += " The model for new datasets is the embedded one again."
    return text


def captioner_offer(workspace: Workspace) -> str:
    """What a captioner adds to a model that has none of its own, and what it costs."""
    installed = workspace.models.view(CAPTIONER.name).is_here
    download = "" if installed else f"{size(CAPTIONER.download)} to download and "
    more = duration(CAPTIONER_CORE_SECONDS / threads.cores())
    return (
        "For models whose own captioner the page Model does not name: three of the nine signs of "
        "the error finder, the strongest sign for suspect words, replacements that read well and "
        f"new descriptions, in English. {CAPTIONER.name}: {download}roughly {more} more for 1,000 "
        "pairs."
    )


def about(view: ModelView) -> str:
    """How reliable a model's time is, as a word."""
    return "about" if view.probe is not None else "roughly"
