"""Processes that answer what the review page sends, so that curators do not wait for each other.

An answer is computed from the request and the database alone (`page_state`), so any process can
give it. Each one waits at a pipe of its own for one request after the other. It ends when the
server does, however that ends: then its pipe does. If it ends before it has answered, as when the
system kills it, another takes its place and is asked again; verdicts and other acts that write have
an id, and are done once.
"""

import copy
import logging
import multiprocessing
import signal
from multiprocessing.connection import Connection
from queue import SimpleQueue

from backend.settings import Settings
from backend.workspace import Workspace
from traced_ui.board import Post, answer_in
from traced_ui.login import require_login

#: Seconds that a process has to close the database once its pipe has ended.
_SECONDS_TO_END = 2.0
log = logging.getLogger(f"traced.{__name__}")


class BoardProcesses:
    """So many processes, each with the database and, once it needs them, the models."""

    def __init__(self, settings: Settings, number: int) -> None:
        self._settings = settings
        self._idle: SimpleQueue[_Process] = SimpleQueue()
        for _ in range(number):
            self._idle.put(_Process(settings))

    def answer(self, post: Post, curator: str | None, takes_login: bool) -> bytes:
        """The answer as JSON; waits until a process is idle. `curator`: who sends it, None without
        login; `takes_login`: whether people have to log in by now. Raises RuntimeError if it
        cannot be computed; the process has logged why."""
        process = self._idle.get()
        try:
            try:
                return process.ask(post, curator, takes_login)
            except (EOFError, OSError):
                log.warning("A process that answers curators has ended. Another takes its place.")
                process.end()
                process = _Process(self._settings)
                return process.ask(post, curator, takes_login)
        finally:
            self._idle.put(process)

    def end(self) -> None:
        """End those that are idle now; the others end with this process."""
        while not self._idle.empty():
            self._idle.get().end()


class _Process:
    def __init__(self, settings: Settings) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that are held
        self._connection, inner = context.Pipe()
        self._process = context.Process(target=_answer_all, args=(inner, settings), daemon=True)
        self._process.start()
        inner.close()

    def ask(self, post: Post, curator: str | None, takes_login: bool) -> bytes:
        self._connection.send((post, curator, takes_login))
        answer: bytes | None = self._connection.recv()
        if answer is None:
            raise RuntimeError("A process that answers curators failed; its log says why.")
        return answer

    def end(self) -> None:
        self._connection.close()
        self._process.join(_SECONDS_TO_END)


def _answer_all(connection: Connection, settings: Settings) -> None:
    """Answer until the server ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal
    workspace = Workspace(settings)
    visible, is_confined = copy.copy(workspace), False
    while True:
        try:
            post, curator, takes_login = connection.recv()
        except (EOFError, OSError):
            break
        if takes_login and not is_confined:
            require_login(workspace, visible)
            is_confined = True
        try:
            answer: bytes | None = answer_in(visible, post, curator)
        except Exception:
            log.exception("review/acts")
            answer = None
        connection.send(answer)
    workspace.store.close()
