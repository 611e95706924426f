"""Which pairs a queue has, and in which order: filters and their groups, places in it, its rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from sqlalchemy import ColumnElement

from db.decisions import DECISIONS, ORDERS, REVIEWS
from db.measures import MEASURES, MeasuredRecord

#: What the order by a column of the source begins with. Its values need not all be of one kind.
EXTRA = "extra:"
#: Orders by text; all others are by numbers: of measures, or the fixed random one.
BY_TEXT = ("picture", "external_id", "caption", "split", "decision", "note", "tag")


@dataclass(frozen=True)
class Range:
    """A closed interval of a measure, None: unbounded. Pairs without a value are excluded."""

    column: str
    minimum: float | None = None
    maximum: float | None = None

    def __post_init__(self) -> None:
        if self.column not in MEASURES:
            raise ValueError(f"a range must be one of {', '.join(MEASURES)}, not '{self.column}'")


Leaf = TypeVar("Leaf")


@dataclass(frozen=True)
class Group(Generic[Leaf]):
    """What "all", "any" or "none" of its parts must say: conditions, and further groups."""

    how: str
    parts: "tuple[Group[Leaf] | Leaf, ...]"

    def leaves(self) -> Iterator[Leaf]:
        """The conditions, from left to right."""
        for part in self.parts:
            if isinstance(part, Group):
                yield from part.leaves()
            else:
                yield part

    def translate(self, leaf: "Callable[[Leaf], Other]") -> "Group[Other]":
        """The same group of translated conditions."""
        return Group(
            self.how,
            tuple(p.translate(leaf) if isinstance(p, Group) else leaf(p) for p in self.parts),
        )


Other = TypeVar("Other")


@dataclass(frozen=True)
class AddedCriterion:
    """What a filter of a feature says of a pair. `condition(value)`: an expression that depends on
    the value alone."""

    value: str
    condition: Callable[[str], ColumnElement[bool]]


@dataclass(frozen=True)
class QueueFilter:
    """Which pairs are in the queue, and in which order.

    `decided_by`: author of the verdict in effect. `text`: substring of the caption, ignoring case.
    `external_id`: part of the dataset's own id. `extra`: a column of the source and its value.
    `suspect_word`, `suspect_kind`: of the most suspect word. `note`: substring of the note of the
    verdict in effect; `noted`: whether there is one. `added`: what filters of features and packages
    say (`backend.review.queue_form.from_fields` reads them). `captioned`: whether the source has a
    caption, or a new one is accepted. `tag`: one of people's own words. `where`: a group of
    filters, whose own dataset, order, reader and `among` do not count. `among`: only these pairs,
    in exactly this order, regardless of `order` (results of a search by meaning or by image);
    `without`: not these. `descending`: see `Measure.worst`. `random` is a random order, the same
    every time; `uncertainty` has the probabilities nearest to 0.5 first, whatever the direction;
    "extra:" and a name is the order by that column of the source. Orders by verdict, note, tag,
    columns of the source and measures of plug-ins have no index.

    `reader`: the curator who gets the pairs of the queue; those that others hold are left out.
    Verdicts are selected by as far as the session's reader sees them (`blind_review`).
    """

    dataset_id: int
    review: str = "all"
    decision: str | None = None
    split: str | None = None
    ranges: tuple[Range, ...] = ()
    decided_by: str | None = None
    text: str | None = None
    truncated: bool | None = None
    vague: bool | None = None
    external_id: str | None = None
    extra: tuple[str, str] | None = None
    suspect_word: str | None = None
    suspect_kind: str | None = None
    note: str | None = None
    noted: bool | None = None
    added: tuple[AddedCriterion, ...] = ()
    captioned: bool | None = None
    tag: str | None = None
    where: "Group[QueueFilter] | None" = None
    among: tuple[int, ...] | None = None
    without: tuple[int, ...] = ()
    order: str = "p_error"
    descending: bool = True
    reader: str | None = None

    def __post_init__(self) -> None:
        if self.review not in REVIEWS:
            raise ValueError(f"review must be one of {', '.join(REVIEWS)}, not '{self.review}'")
        if self.order not in (*MEASURES, *ORDERS) and not self.order.startswith(EXTRA):
            orders = ", ".join((*MEASURES, *ORDERS))
            raise ValueError(f"order must be one of {orders}, not '{self.order}'")
        if self.decision is not None and self.decision not in DECISIONS:
            raise ValueError(
                f"'{self.decision}' is not a decision; there are {', '.join(DECISIONS)}"
            )


@dataclass(frozen=True)
class Cursor:
    """A position in an order: after this pair. Only meaningful with the filter it came from."""

    value: float | str | None
    pair_id: int

    def is_in(self, order: str) -> bool:
        """Whether such a value occurs in the order."""
        if self.value is None or order.startswith(EXTRA):
            return True
        return isinstance(self.value, str if order in BY_TEXT else float)


@dataclass(frozen=True)
class QueueRow(MeasuredRecord):
    """What the queue shows of a pair. `numbers`: by the names of `db.measures.MEASURES`."""

    pair_id: int
    external_id: str
    image_path: str
    caption: str
    decision: str | None
    corrected_caption: str | None
    split: str | None
    truncated: bool
    verdict_version: int
    random_key: float
    enriches: bool = False
    note: str = ""


@dataclass(frozen=True)
class QueuePage:
    """`next_cursor` is None on the last page."""

    rows: tuple[QueueRow, ...]
    next_cursor: Cursor | None
