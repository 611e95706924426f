"""Language model: the server of a vision-language model, chosen, tried and kept on a page."""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from backend.counts import count_of
from backend.engine.language_models.spending import Budget, Prices
from backend.errors import PictureUnseen, SettingsError
from backend.features.vision_language.server_setup import (
    ChatServer,
    check_address,
    delete_server,
    find_server,
    save_server,
)
from backend.features.vision_language.server_trial import PRICED, Trial, list_models, try_server
from backend.features.vision_language.sight import UNLIKE
from backend.workspace import Workspace
from traced_ui.dataset_settings import may_change_datasets
from traced_ui.messages import QUIET, event_kwargs, note
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page
from traced_ui.templates import renderer_of

_render = renderer_of(Path(__file__).with_name("templates"))
#: Characters of an address, a key or a name.
_LONGEST = 500
#: Fields of long texts share a row only where each has so many pixels.
_WIDE = 320


def build(workspace: Workspace, dataset: PageDataset) -> tuple[Any, ...]:
    """Build the page; return what draws it: (function, inputs, outputs)."""
    state = gr.HTML(elem_id="language-model-state", padding=False)
    with gr.Column(elem_id="language-model-form", visible=False) as form:
        gr.Markdown("### Where it runs")
        with gr.Row():
            url = gr.Textbox(
                label="Address of the server", placeholder="http://localhost:8000/v1",
                info="OpenAI-compatible: vLLM, SGLang, Ollama, LM Studio, transformers serve, or a "
                "paid one.", max_length=_LONGEST, elem_id="language-model-url", min_width=_WIDE,
            )  # fmt: skip
            key = gr.Textbox(
                label="Key", type="password", max_length=_LONGEST, elem_id="language-model-key",
                info="If the server needs one. It stays on this machine, and is never shown again.",
                min_width=_WIDE,
            )  # fmt: skip
        with gr.Row(elem_id="language-model-choice"):
            model = gr.Dropdown(
                [], label="Model", allow_custom_value=True, elem_id="language-model-name",
                info="One that the server lists, or its name.",
            )  # fmt: skip
            models = gr.Button("List its models", elem_id="language-model-list")
        gr.Markdown("### What it may cost")
        with gr.Row():
            price_in, price_out = (
                gr.Number(None, label=f"Price per million {way} tokens", minimum=0)
                for way in ("input", "output")
            )
            requests = gr.Number(
                None, label="Limit on requests", precision=0, minimum=1,
                info="Until the server is restarted.",
            )  # fmt: skip
            cost = gr.Number(
                None, label="Limit on cost", minimum=0, info="By these prices, until then."
            )
        with gr.Row(elem_classes="decision-row"):
            test = gr.Button("Test", elem_id="language-model-test")
            use = gr.Button("Test and use", variant="primary", elem_id="language-model-use")
            forget = gr.Button("Delete the key", elem_id="language-model-forget")
            remove = gr.Button("Use no model", elem_id="language-model-remove")
    message = gr.HTML(elem_id="language-model-message")
    answers = gr.HTML(elem_id="language-model-answers", padding=False)
    changes = gr.State(0)  # of what is stored: the fields are drawn again after these alone
    fields = [url, key, model, price_in, price_out, requests, cost]
    folder = workspace.settings.data_directory

    def draw(request: gr.Request) -> tuple[Any, ...]:
        is_allowed = may_change_datasets(workspace, request)
        server = find_server(folder)
        shown = server if is_allowed else None
        prices = shown.prices if shown is not None else None
        budget = shown.budget if shown is not None else Budget()
        has_key = shown is not None and bool(shown.key)
        return (
            state_html(workspace, is_allowed),
            gr.Column(visible=is_allowed),
            shown.url if shown is not None else "",
            gr.Textbox("", placeholder="A key is stored; type to replace it." if has_key else ""),
            gr.Dropdown([shown.model], value=shown.model) if shown is not None else None,
            prices.tokens_in if prices is not None else None,
            prices.tokens_out if prices is not None else None,
            budget.requests,
            budget.cost,
            gr.Button(interactive=has_key),
            gr.Button(interactive=shown is not None),
        )

    redraw = (draw, None, [state, form, *fields, forget, remove])

    def list_served(url: str, key: str, request: gr.Request) -> tuple[Any, Markup]:
        check_right(workspace, request)
        names = list_models(server_of(find_server(folder), url, key, "", needs_model=False))
        return gr.Dropdown(names, value=names[0]), note(
            f"The server lists {count_of(len(names), 'model')}.", "good"
        )

    def try_form(request: gr.Request, *values: Any) -> Markup:
        check_right(workspace, request)
        return trial_html(try_server(server_of(find_server(folder), *values)))

    def use_form(request: gr.Request, *values: Any) -> tuple[Markup, Markup, int]:
        check_right(workspace, request)
        server = server_of(find_server(folder), *values)
        trial = try_server(server)
        if trial.sees is False:
            raise PictureUnseen(
                f"'{server.model}' at {server.url} does not tell a red square from a blue one: "
                f"'{trial.answers[0][:120]}' and '{trial.answers[1][:120]}'. Nothing was saved."
            )
        save_server(folder, server)
        return trial_html(trial), note(f"'{server.model}' is asked from now on.", "good"), _now()

    def delete_key(request: gr.Request) -> tuple[Markup, int]:
        check_right(workspace, request)
        if (server := find_server(folder)) is not None:
            save_server(folder, replace(server, key=""))
        return note("The key is deleted.", "good"), _now()

    def delete_all(request: gr.Request) -> tuple[str, Markup, int]:
        check_right(workspace, request)
        delete_server(folder)
        said = note("No model is set up on this page, and its key is deleted.", "good")
        return "", said, _now()

    def say_asking() -> tuple[Markup, str]:
        return note("Asking the server …"), ""

    for button, handler, inputs, outputs in (
        (models, list_served, [url, key], [model, message]),
        (test, try_form, fields, [answers]),
        (use, use_form, fields, [answers, message, changes]),
    ):
        asked = button.click(say_asking, None, [message, answers], **QUIET)
        asked.then(**event_kwargs(handler, inputs, outputs, message))
    forget.click(**event_kwargs(delete_key, None, [message, changes], message))
    remove.click(**event_kwargs(delete_all, None, [answers, message, changes], message))
    changes.change(*redraw, **QUIET)
    return redraw


def _now() -> int:
    return time.monotonic_ns()


def check_right(workspace: Workspace, request: gr.Request) -> None:
    """Raises SettingsError for who may not say where pictures are sent."""
    if not may_change_datasets(workspace, request):
        raise SettingsError("Only an adjudicator may set up a language model.")


def server_of(
    stored: ChatServer | None,
    url: str | None,
    key: str | None,
    model: str | None,
    price_in: float | None = None,
    price_out: float | None = None,
    requests: float | None = None,
    cost: float | None = None,
    needs_model: bool = True,
) -> ChatServer:
    """The server that the fields describe; without a typed key with the stored one, if the address
    is the same. Raises SettingsError."""
    address, name, typed = check_address(url or ""), (model or "").strip(), (key or "").strip()
    if needs_model and not name:
        raise SettingsError("Choose a model, or list those that the server has.")
    if not typed.isascii() or not typed.isprintable() or " " in typed:
        raise SettingsError("A key has neither spaces nor accents: copy it again.")
    kept = stored.key if stored is not None and stored.url == address else ""
    for value in (price_in, price_out, requests, cost):
        if value is not None and not 0 <= value < math.inf:
            raise SettingsError("Prices and limits are numbers from 0 on.")
    has_price = price_in is not None or price_out is not None
    if cost is not None and not has_price:
        raise SettingsError("A limit in money needs the prices that it is counted by.")
    return ChatServer(
        address, name[:_LONGEST], (typed or kept)[:_LONGEST],
        Prices(price_in or 0.0, price_out or 0.0) if has_price else None,
        Budget(cost=cost, requests=None if requests is None else int(requests)),
    )  # fmt: skip


def state_html(workspace: Workspace, is_allowed: bool) -> Markup:
    settings = workspace.settings
    return _render(
        "server_state.html", server=find_server(settings.data_directory), may_change=is_allowed,
        configured=settings.corrector, by=settings.origins.get("corrector", "option")
        if settings.corrector else "",
    )  # fmt: skip


def trial_html(trial: Trial) -> Markup:
    answers = list(zip(UNLIKE, trial.answers, strict=True))
    return _render("server_trial.html", trial=trial, answers=answers, priced=PRICED)


PAGE = AddedPage(
    Page("language-model", "Language model"), "Dataset", build,
    Path(__file__).with_name("page.css"),
)  # fmt: skip
