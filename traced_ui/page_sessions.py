"""The state of each open page: queue, pair and step."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from backend.review.queue_form import START

_MOST_SESSIONS = 500
_MOST_VISITED = 200


@dataclass
class PageSession:
    """One open page. Its lock serialises rapid key presses."""

    dataset_id: int | None = None
    pair_id: int | None = None
    step: int = 0
    filter: dict[str, str] = field(default_factory=lambda: dict(START))
    pages: list[Any] = field(default_factory=lambda: [None])
    waiting: bool = False  # the pair on the page has no scores yet
    linked: bool = False  # the queue named in the page's URL has been set
    grid: bool = False  # many pairs at once instead of one
    key: str = ""  # Gradio's session hash
    author: str = ""  # the author of verdicts given here
    team: bool = False  # login is enabled: each pair is assigned to one curator
    held: frozenset[int] = frozenset()  # claimed: the pair on the page and the prefetched pairs
    limits: str = ""  # limitations of the dataset's scores
    name: str = ""  # the dataset's own id of the pair on the page
    #: Queue and pair to return to from "more like this".
    came_from: tuple[dict[str, str], int | None] | None = None
    #: The pair shown before each undo, so that redo returns to it.
    undone: list[int | None] = field(default_factory=list)
    #: Pairs shown before this one, so that "previous" goes back through them.
    visited: list[int] = field(default_factory=list)
    #: A verdict waiting for confirmation.
    unconfirmed: dict[str, Any] | None = None
    abstract: int | None = None  # the pair on the page, if its caption looks abstract
    lock: threading.RLock = field(default_factory=threading.RLock)

    def hold(self, pair_id: int) -> None:
        """Record that a pair has been claimed; a pair not yet held replaces those that are."""
        if pair_id not in self.held:
            self.held = frozenset((pair_id,))

    def leave(self) -> None:
        """Record that the current pair is about to be replaced by another one."""
        if self.pair_id is not None:
            self.left(self.pair_id)

    def left(self, pair_id: int) -> None:
        """Record that a pair was shown and has been replaced by another one."""
        if self.visited[-1:] != [pair_id]:
            self.visited = [*self.visited[1 - _MOST_VISITED :], pair_id]


class PageSessions:
    """Page sessions by browser session; the least recently used are discarded."""

    def __init__(self, author: str) -> None:
        self._author = author
        self._sessions: OrderedDict[tuple[str, str], PageSession] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, request: gr.Request) -> PageSession:
        """The page's session; another curator's session id gives no access to theirs."""
        return self.at(str(request.session_hash), request.username or "")

    def at(self, name_of_session: str, name: str) -> PageSession:
        """The session with that id, of the logged-in user `name` (empty: login is disabled)."""
        key = (name_of_session, name)
        with self._lock:
            session = self._sessions.setdefault(
                key,
                PageSession(author=name or self._author, team=bool(name), key=name_of_session),
            )
            self._sessions.move_to_end(key)
            while len(self._sessions) > _MOST_SESSIONS:
                self._sessions.popitem(last=False)
            return session
