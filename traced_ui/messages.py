"""What handlers of pages share: error messages for users, and what a script in the browser sent."""

import functools
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from backend.errors import SettingsError, TracedError, as_traced, explain
from traced_ui.templates import part, renderer_of

log = logging.getLogger(f"traced.{__name__}")

#: Options of an event that no program calls and whose outputs are not dimmed meanwhile. Its answer
#: is that of its request: one sent over the stream of Gradio's queue may be lost, and the page
#: would wait for it.
QUIET: dict[str, Any] = {
    "api_visibility": "private", "show_progress": "hidden", "queue": False,
}  # fmt: skip


def note(text: str, kind: str = "info") -> Markup:
    """A message as HTML. `kind`: info, good, warning or error."""
    return part("note", text, kind)


def explain_on_page(error: BaseException) -> str:
    """One sentence about the error; unexpected errors are logged with their traceback."""
    error = as_traced(error)
    if isinstance(error, SettingsError):
        # Users of a page have changed no settings: show only the advice, without a prefix.
        return f"{error} {error.remedies.get('page', '')}".rstrip()
    if not isinstance(error, TracedError):
        log.error("unexpected error on a page", exc_info=error)
    return explain(error, "page")


def draw_added(what: str, template: Path, **values: Any) -> Markup:
    """A template of a feature or another package with these values; if it fails, or a value is the
    error of what computes it, that error in its place. `what`: "The filter “…”"."""
    try:
        for value in values.values():
            if isinstance(value, Exception):
                raise value
        return renderer_of(template.parent)(template.name, **values)
    except Exception as problem:  # of whatever its author wrote
        log.exception("%s cannot be shown", what)
        return note(f"{what} cannot be shown. {explain_on_page(problem)}", "error")


def event_kwargs(
    handler: Callable[..., Any], inputs: Any, outputs: Sequence[Any], place: Any
) -> dict[str, Any]:
    """The arguments of an event whose errors are said in `place`, a `gr.HTML` beside what caused
    them, and leave the rest of the page as it is. What works empties it, unless the handler writes
    there itself."""
    is_output = place in outputs
    components = [*outputs] if is_output else [*outputs, place]

    @functools.wraps(handler)
    def wrapper(*arguments: Any) -> Any:
        try:
            answer = handler(*arguments)
        except Exception as error:
            problem = note(explain_on_page(error), "error")
            answers = [problem if component is place else gr.skip() for component in components]
            return answers if len(answers) > 1 else problem
        if is_output:
            return answer
        return (*(answer if len(outputs) > 1 else (answer,)), "")

    return {"fn": wrapper, "inputs": inputs, "outputs": components, **QUIET}


def selecting(attribute: str) -> str:
    """JavaScript of a `gr.HTML`: a click on what has this data attribute selects it, with its data
    attributes as the event's values."""
    return f"""element.addEventListener("click", ({{ target }}) => {{
  const chosen = target.closest("[data-{attribute}]");
  if (chosen) trigger("select", {{ ...chosen.dataset }});
}});"""


def event_value(event: gr.EventData, name: str, default: Any) -> Any:
    """The value sent under `name`; `default` if there is none or it is null.

    >>> event_value(gr.EventData(None, {"pair": 3, "action": None}), "pair", 0)
    3
    >>> [event_value(gr.EventData(None, data), "pair", 0) for data in ({}, None, "pair")]
    [0, 0, 0]
    """
    try:
        value = getattr(event, name)
    except (AttributeError, TypeError):
        return default
    return default if value is None else value
