"""The state of an open review page.

The browser holds it and sends it with each request, and the answer brings the new one: the server
keeps nothing about a page, so that a restart, a reload or a second server loses nothing. Everything
in it comes from outside and is checked where it is used.
"""

from typing import NamedTuple

from pydantic import BaseModel, Field

from backend.review.queue_form import START
from backend.workspace import Cursor

#: Rows of a table at first and at each approach to its end, and at most on one page.
ROWS, MOST_ROWS = 30, 600
LONGEST_DRAFT = 4000
#: Pairs to go back through, and undo steps to return from.
MOST_VISITED = 200
#: Pairs whose tags the page can take back.
MOST_TAGGED = 1000


class Return(NamedTuple):
    """Queue and pair to return to from "more like this"."""

    filter: dict[str, str]
    pair: int | None


class TagChange(BaseModel):
    """A tag to add to pairs, or to remove from them."""

    name: str = Field(max_length=200)
    pairs: list[int] = Field(max_length=MOST_TAGGED)
    remove: bool


class PageState(BaseModel):
    """What a page shows: a dataset, a queue (`filter`, as in its address) and a pair of it."""

    #: The curator who opened it.
    author: str = Field("", max_length=300)
    dataset: int | None = None
    pair: int | None = None
    filter: dict[str, str] = Field(default_factory=lambda: dict(START))
    #: The listed pairs of the queue come after this position; None: the first ones.
    after: Cursor | None = None
    #: Many pairs at once instead of one.
    grid: bool = False
    #: They are rows of a table instead of cards.
    is_table: bool = False
    rows: int = Field(ROWS, ge=1, le=MOST_ROWS)
    #: The drawer of filters is open.
    is_filtering: bool = False
    #: Groups as typed that could not be read: they stay in their field.
    groups_draft: str = Field("", max_length=LONGEST_DRAFT)
    #: The pair has no scores yet.
    waiting: bool = False
    #: Claimed with login: the pair on the page and the prefetched ones.
    held: list[int] = Field(default_factory=list, max_length=100)
    came_from: Return | None = None
    #: The pair shown before each undo, so that redo returns to it.
    undone: list[int | None] = Field(default_factory=list, max_length=MOST_VISITED)
    #: What takes the last change of tags back, until the next verdict.
    tagging: list[TagChange] = Field(default_factory=list, max_length=2)
    #: Pairs shown before this one, so that "previous" goes back through them.
    visited: list[int] = Field(default_factory=list, max_length=MOST_VISITED)
    #: Shown because they were drawn at random, and whether such pairs are mixed into the queue.
    sampled: list[int] = Field(default_factory=list, max_length=MOST_VISITED)
    is_mixed: bool = True
    #: Limitations of the dataset's scores.
    limits: str = Field("", max_length=2000)

    @property
    def place(self) -> int | None:
        """The pair after which the queue goes on: one drawn at random is not at its place."""
        if self.pair not in self.sampled:
            return self.pair
        before = (pair for pair in reversed(self.visited) if pair not in self.sampled)
        return next(before, self.pair)

    def advance(self) -> None:
        """Record a new verdict: what was undone or tagged before is no longer the last act."""
        self.undone, self.tagging = [], []

    def leave(self) -> None:
        """Record that the pair is about to be replaced by another one."""
        if self.pair is not None and self.visited[-1:] != [self.pair]:
            self.visited = [*self.visited[1 - MOST_VISITED :], self.pair]

    def show(self, pair: int | None) -> None:
        """Show another pair, or none."""
        if pair != self.pair:
            self.leave()
        self.pair = pair
