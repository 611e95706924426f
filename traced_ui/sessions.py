"""What the server keeps of everyone who is there.

Gradio copies the configuration of every component for each session, for links that bring a page
back as it was. This app has no such links, and the copies are dear: half a mebibyte and 40 ms of
every visit, kept for the last ten thousand; and each call of a program is a session of its own.
Here a session keeps what its events need, and those that hold nothing are forgotten first.
"""

from types import SimpleNamespace
from typing import Any, cast

import fastapi
import gradio as gr
from gradio.routes import App
from gradio.state_holder import SessionState, StateHolder

#: Sessions kept: open pages, and the calls of programs that are under way.
MOST = 1000


class Session(SessionState):
    """State and changed components of one visitor, without the copies."""

    def __init__(self, blocks: gr.Blocks) -> None:
        bare = SimpleNamespace(default_config=blocks.default_config, blocks={})
        super().__init__(cast(gr.Blocks, bare))
        cast(Any, self.blocks_config).config_for_block = lambda *_: {}


class Sessions(StateHolder):
    """All sessions, by Gradio's name for them."""

    def __getitem__(self, session_id: str) -> SessionState:
        with self.lock:
            if session_id not in self.session_data:
                self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)

    def update(self, session_id: str) -> None:
        """Count it as used; if there are too many, forget the one that is missed least."""
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
    """Give the Gradio apps that are mounted in this one light sessions."""
    for mounted in mounted_in(app):
        blocks = mounted.get_blocks()
        blocks.state_session_capacity = MOST
        mounted.state_holder = Sessions()
        mounted.state_holder.set_blocks(blocks)


def mounted_in(app: fastapi.FastAPI) -> list[App]:
    """The Gradio apps that are mounted in an app."""
    inner = (getattr(route, "app", None) for route in app.routes)
    return [each for each in inner if isinstance(each, App)]
