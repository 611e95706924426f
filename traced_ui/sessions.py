"""Lightweight server-side sessions.

Gradio copies the configuration of every component into each session, for links that restore a
page. This app has no such links, and the copies are expensive: half a mebibyte and 40 ms per visit,
kept for the last ten thousand sessions. Here a session stores only what its events need, and
sessions without state are evicted first.
"""

from types import SimpleNamespace
from typing import Any, cast

import fastapi
import gradio as gr
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder

#: Maximum number of sessions: open pages.
MOST = 1000


class Session(SessionState):
    """State and changed components of one visitor, without copied configurations."""

    def __init__(self, blocks: gr.Blocks) -> None:
        bare = SimpleNamespace(default_config=blocks.default_config, blocks={})
        super().__init__(cast(gr.Blocks, bare))
        cast(Any, self.blocks_config).config_for_block = lambda *_: {}


class Sessions(StateHolder):
    """All sessions, by Gradio's session id."""

    def __getitem__(self, session_id: str) -> SessionState:
        with self.lock:
            if session_id not in self.session_data:
                self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)

    def update(self, session_id: str) -> None:
        """Mark the session as used. Over capacity, evict the least recently used session without
        state, or else the least recently used one."""
        with self.lock:
            if session_id in self.session_data:
                self.session_data.move_to_end(session_id)
            while len(self.session_data) > self.capacity:
                oldest = next(iter(self.session_data))
                empty = (
                    name
                    for name, session in self.session_data.items()
                    if name != session_id and not session.state_data
                )
                least = next(empty, oldest)
                del self.session_data[least]
                self.time_last_used.pop(least, None)


def keep_light(app: fastapi.FastAPI) -> None:
    """Use lightweight sessions in the Gradio apps mounted in `app`."""
    for gradio_app in mounted_in(app):
        blocks = gradio_app.get_blocks()
        blocks.state_session_capacity = MOST
        gradio_app.state_holder = Sessions()
        gradio_app.state_holder.set_blocks(blocks)


def mounted_in(app: fastapi.FastAPI) -> list[App]:
    """The Gradio apps mounted in `app`."""
    inner = (getattr(route, "app", None) for route in app.routes)
    return [each for each in inner if isinstance(each, App)]
