"""Where each open page is: which queue, which pair, which step."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import gradio as gr

from backend.pipeline.queue_fields import START

_SEATS = 500


@dataclass
class Seat:
    """One open page. Its lock makes quick keys come one after the other."""

    dataset_id: int | None = None
    pair_id: int | None = None
    step: int = 0
    filter: dict[str, str] = field(default_factory=lambda: dict(START))
    pages: list[Any] = field(default_factory=lambda: [None])
    waiting: bool = False  # the pair on the page has no scores yet
    linked: bool = False  # the queue that the page's address names has been set
    grid: bool = False  # many pairs at once instead of one
    author: str = ""  # whose verdicts are given here
    team: bool = False  # people log in: pairs are handed out, each to one of them
    held: int | None = None  # the pair that is claimed for this page
    #: Queue and pair from which "more like this" led away.
    came_from: tuple[dict[str, str], int | None] | None = None
    chart: Any = None  # as the last key left it
    abstract: int | None = None  # the pair on the page, if its caption looks abstract
    lock: threading.RLock = field(default_factory=threading.RLock)


class Seats:
    """Seats by browser session; the ones not used longest are forgotten."""

    def __init__(self, author: str) -> None:
        self._author = author
        self._seats: OrderedDict[tuple[str, str], Seat] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, request: gr.Request) -> Seat:
        """The page's seat; nobody gets another curator's by naming their session."""
        name = request.username or ""
        key = (str(request.session_hash), name)
        with self._lock:
            seat = self._seats.setdefault(key, Seat(author=name or self._author, team=bool(name)))
            self._seats.move_to_end(key)
            while len(self._seats) > _SEATS:
                self._seats.popitem(last=False)
            return seat
