"""The state of an open review page.

The browser holds it and sends it with each request, and the answer brings the new one: the server
keeps nothing about a page, so that a restart, a reload or a second server loses nothing. Everything
in it comes from outside and is checked where it is used.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import AwareDatetime, BaseModel, Field

from backend.review.queue_form import START
from backend.workspace import Cursor

#: Rows of a table at first and at each approach to its end, and at most on one page.
ROWS, MOST_ROWS = 30, 600
LONGEST_DRAFT = 4000
#: Pairs to go back through.
MOST_VISITED = 200
#: Pairs that a pasted picture finds.
MOST_FOUND = 1000
#: Pairs that are put aside.
MOST_SKIPPED = 500
#: Steps to undo or redo, and pairs whose tags one of them changes.
MOST_STEPS = 50
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


class Step(BaseModel):
    """What `Z` takes back or `Y` repeats: changes of tags, in order, or else a verdict, which the
    store knows. `pair`: shown before it was undone; redo returns to it. `at`: when tags were
    changed."""

    tags: list[TagChange] = Field(default_factory=list, max_length=2)
    pair: int | None = None
    at: AwareDatetime | None = None


class ClaimPlace(NamedTuple):
    """A claim of a pair's caption, by where it starts."""

    pair: int
    start: int


class PageState(BaseModel):
    """What a page shows: a dataset, a queue (`filter`, as in its address) and a pair of it."""

    #: The curator who opened it.
    author: str = Field("", max_length=300)
    dataset: int | None = None
    pair: int | None = None
    #: The selected claim; that of another pair, or None: the most suspicious one.
    claim: ClaimPlace | None = None
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
    #: Held with login: the pair on the page and the prefetched ones.
    held: list[int] = Field(default_factory=list, max_length=100)
    came_from: Return | None = None
    #: To undo and to redo, the newest last.
    done: list[Step] = Field(default_factory=list, max_length=MOST_STEPS)
    undone: list[Step] = Field(default_factory=list, max_length=MOST_STEPS)
    #: Pairs shown before this one, so that "previous" goes back through them.
    visited: list[int] = Field(default_factory=list, max_length=MOST_VISITED)
    #: Shown because they were drawn at random, and whether such pairs are mixed into the queue.
    sampled: list[int] = Field(default_factory=list, max_length=MOST_VISITED)
    is_mixed: bool = True
    #: Put aside in this session, the last one last, and whether they are the queue.
    skipped: list[int] = Field(default_factory=list, max_length=MOST_SKIPPED)
    shows_skipped: bool = False
    #: Pairs with pictures like one that was pasted, the nearest first, which are the queue then.
    found: list[int] = Field(default_factory=list, max_length=MOST_FOUND)
    #: The list of what can be undone is open.
    shows_history: bool = False
    #: Limitations of the dataset's scores.
    limits: str = Field("", max_length=2000)
    #: The dataset's model does not know such pictures, and was told to score them.
    is_unfamiliar: bool = False
    #: The languages that it reads; none: nobody says.
    languages_read: list[str] = Field(default_factory=list, max_length=100)

    @property
    def place(self) -> int | None:
        """The pair after which the queue goes on: one drawn at random is not at its place."""
        if self.pair not in self.sampled:
            return self.pair
        before = (pair for pair in reversed(self.visited) if pair not in self.sampled)
        return next(before, self.pair)

    @property
    def given_order(self) -> str:
        """The order of a queue that no measure or column sorts, in words; "": one does."""
        if self.shows_skipped:
            return "as skipped"
        is_search = self.found or self.filter.get("meaning") or self.filter.get("like")
        return "nearest first" if is_search else ""

    def advance(self, tags: Sequence[TagChange] = ()) -> None:
        """Record a new verdict, or a change of tags that `tags` take back: what was undone before
        cannot be redone."""
        self.done = newest(
            [*self.done, Step(tags=list(tags), at=datetime.now(UTC) if tags else None)]
        )
        self.undone = []

    def leave_lists(self) -> None:
        """Go back from pairs that were skipped or found to the queue."""
        self.shows_skipped, self.found = False, []

    def leave(self) -> None:
        """Record that the pair is about to be replaced by another one."""
        if self.pair is not None and self.visited[-1:] != [self.pair]:
            self.visited = [*self.visited[1 - MOST_VISITED :], self.pair]

    def show(self, pair: int | None) -> None:
        """Show another pair, or none."""
        if pair != self.pair:
            self.leave()
        self.pair = pair


def newest(steps: Sequence[Step]) -> list[Step]:
    """The last steps, as many as a request may carry: at most `MOST_STEPS`, with tags of at most
    `MOST_TAGGED` pairs but for the last."""
    recent: list[Step] = []
    pairs = 0
    for step in reversed(steps[-MOST_STEPS:]):
        pairs += sum(len(change.pairs) for change in step.tags)
        if recent and pairs > MOST_TAGGED:
            break
        recent.insert(0, step)
    return recent
