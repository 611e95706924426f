"""What handlers of pages share: error messages for users, and what a script in the browser sent."""

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import gradio as gr
from markupsafe import Markup

from backend.errors import SettingsError, TracedError, explain
from traced_ui.templates import part

T = TypeVar("T")

log = logging.getLogger(f"traced.{__name__}")

#: Options of an event that no program calls and whose outputs are not dimmed meanwhile.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


def note(text: str, kind: str = "info") -> Markup:
    """A message as HTML. `kind`: info, good, warning or error."""
    return part("note", text, kind)


def explained(error: BaseException) -> str:
    """One sentence about the error; unexpected errors are logged with their traceback."""
    if isinstance(error, SettingsError):
        # Users of a page have changed no settings: show only the advice, without a prefix.
        return f"{error} {error.remedies.get('page', '')}".rstrip()
    if not isinstance(error, TracedError):
        log.error("unexpected error on a page", exc_info=error)
    return explain(error, "page")


def guarded(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a handler so that errors become warnings that leave the page unchanged."""

    @functools.wraps(handler)
    def wrapped(*arguments: Any) -> Any:
        try:
            return handler(*arguments)
        except gr.Error:  # of a handler that this one calls: a warning already
            raise
        except Exception as error:
            raise _warning(error) from None

    return wrapped


def guarded_steps(steps: Iterator[T]) -> Iterator[T]:
    """The same for a handler that yields intermediate states of the page."""
    try:
        yield from steps
    except Exception as error:
        raise _warning(error) from None


def _warning(error: Exception) -> gr.Error:
    return gr.Error(part("plain", explained(error)), duration=12, print_exception=False)


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
