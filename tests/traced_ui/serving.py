"""The app on a real port, for programs and browsers."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from backend.workspace import Workspace
from traced_ui.server import create_app


@contextmanager
def serving(workspace: Workspace, **options: Any) -> Iterator[str]:
    """Serve `create_app(workspace, 1, **options)`; yields its address, with a slash at the end."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(workspace, 1, **options), log_level="error"))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    port = listening.getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = server.force_exit = True  # without waiting for clients to go away
        thread.join(20)
