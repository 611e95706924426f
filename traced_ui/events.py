"""What a script in the browser sent with an event; it is untrusted."""

from typing import Any

import gradio as gr


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
