"""Errors as people read them: no traceback reaches a page."""

import functools
import logging
from collections.abc import Callable
from typing import Any

import gradio as gr

from backend.errors import TracedError, explain
from traced_ui.markup import safe

log = logging.getLogger(__name__)


def note(text: str, kind: str = "info") -> str:
    """A message as HTML. `kind`: info, good, warning or error."""
    role = "alert" if kind == "error" else "status"
    return f'<div class="traced-note {kind}" role="{role}">{safe(text)}</div>'


def explained(error: BaseException) -> str:
    """One sentence about the error; what nobody foresaw goes to the log with its traceback."""
    if not isinstance(error, TracedError):
        log.error("unexpected error on a page", exc_info=error)
    return explain(error)


def guarded(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A handler that shows a warning where it would have raised, and changes nothing else."""

    @functools.wraps(handler)
    def wrapped(*arguments: Any) -> Any:
        try:
            return handler(*arguments)
        except Exception as error:
            raise gr.Error(safe(explained(error)), duration=12, print_exception=False) from None

    return wrapped
