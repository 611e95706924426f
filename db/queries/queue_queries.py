"""The queue: pairs in the order in which a curator sees them, page by page and one by one.

Pagination is by *keyset*: not "skip 480,000 rows" but "what follows this value and this id", which
an index answers at once and which stays correct while rows are being decided. Pairs without a value
come last in either direction. So that the index does all the work, an order is split into segments,
each a plain range of one index:

    after (p = 0.7, id 12), most likely wrong first:
        p = 0.7 and id > 12   by id          the rest of the ties
        p < 0.7               by p, id       what follows
        p unknown             by id          the unscored ones

Ties follow the direction of the index (`_TIES_ASCEND`).

*Most uncertain* is the order of |p - 0.5|. The index of p is read on both sides of 0.5, and the two
sides are merged.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    String,
    Text,
    and_,
    bindparam,
    case,
    cast,
    column,
    exists,
    false,
    func,
    literal_column,
    null,
    or_,
    select,
    table,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import URL
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.caption_search import SHORTEST
from db.column_types import now
from db.decisions import DECISIONS, ORDERS, REVIEWS
from db.errors import MissingRow
from db.measures import MEASURES, MeasuredRecord
from db.models import CAPTION_START, PICTURE, Hold, Pair
from db.queries.blind_review import SeenVerdict, built_once, pair_columns, verdict_seen
from db.queries.number_columns import number_column
from db.queries.opinion_queries import disputed_ids
from db.queries.ranking_queries import P_ERROR, RANKING, column_of, ranking_of
from db.queries.statements import check_text, record_of, run
from db.queries.tag_queries import first_tag, has_tag

#: What the order by a column of the source begins with. Its values need not all be of one kind.
EXTRA = "extra:"
#: Orders by the probability of error, by text, and by text that every pair has. All others are by
#: numbers: of measures, or the fixed random one.
_BY_PROBABILITY = ("p_error", "uncertainty")
_BY_TEXT = ("picture", "external_id", "caption", "split", "decision", "note", "tag")
_COMPLETE = ("picture", "external_id", "caption")
#: Orders in which an index has the pairs.
WITH_INDEX = (
    "p_error", "uncertainty", "gain", "s_0", "icc", "disagreement", "support", "weakest",
    "specificity", "position", "random", "picture", "external_id", "caption", "split",
)  # fmt: skip
#: Distances are compared exactly; the range read from the index is wider by this much.
_SLACK = 1e-9
#: A search looks at so many captions before it lists all that match.
_NEAR = 1000


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
        return isinstance(self.value, str if order in _BY_TEXT else float)


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


def _columns(session: Session, filter: QueueFilter) -> tuple[ColumnElement[Any], ...]:
    columns = pair_columns(session, QueueRow.__dataclass_fields__, filter.dataset_id)
    return *columns, *_place_columns(session, filter)


def _place_columns(session: Session, filter: QueueFilter) -> tuple[ColumnElement[Any], ...]:
    """The value by which the queue is ordered, and the ranking in use."""
    is_by_probability = filter.order in _BY_PROBABILITY
    value: Any = P_ERROR if is_by_probability else _column(session, filter)
    return (null() if value is None else value).label("place"), RANKING.label("ranking")


#: The number of the ranking last seen in use, by database and dataset.
_last_rankings: dict[tuple[URL, int], int] = {}


def page(
    session: Session, filter: QueueFilter, after: Cursor | None = None, limit: int = 24
) -> QueuePage:
    """The next `limit` pairs after `after`, or the first ones."""
    if after is not None and not after.is_in(filter.order):
        after = None  # of another order
    rows = _rows(session, filter, after, limit + 1)
    shown_rows = rows[:limit]
    is_last = len(rows) <= limit or not shown_rows
    cursor = None if is_last else Cursor(shown_rows[-1].place, shown_rows[-1].pair_id)
    return QueuePage(tuple(map(_queue_row, shown_rows)), cursor)


def _queue_row(row: Row[Any]) -> QueueRow:
    values = dict(zip(row._fields, row, strict=True))
    del values["place"], values["ranking"]
    return record_of(QueueRow, values)


def count(session: Session, filter: QueueFilter, at_most: int | None = None) -> int:
    """Number of pairs that match the filter; counting stops at `at_most`."""
    pairs = select(Pair.id).where(*conditions_of(session, filter))
    others = replace(filter, text=None)
    matches = _matches(session, filter.text or "") if _is_search(filter) else None
    if matches is not None:
        # From match to match: as a condition, SQLite would list them all before the first.
        is_in_queue = Pair.id == matches.selected_columns.rowid, *conditions_of(session, others)
        pairs = matches.where(exists().where(*is_in_queue))
    if at_most is not None:
        pairs = pairs.limit(at_most)
    return session.execute(select(func.count()).select_from(pairs.subquery())).scalar_one()


def count_held_by_others(session: Session, filter: QueueFilter) -> int:
    """How many pairs the queue lacks because others than its reader have them on their screens."""
    if filter.reader is None:
        return 0
    everybodys = conditions_of(session, replace(filter, reader=None))
    is_held = Pair.id.in_(_held_by_others(filter.reader))
    return session.execute(select(func.count(Pair.id)).where(is_held, *everybodys)).scalar_one()


def first_pair(session: Session, filter: QueueFilter) -> int | None:
    """The first pair of the queue; None if it is empty."""
    return _first_id(session, filter, None)


def next_pair(session: Session, filter: QueueFilter, after_pair_id: int) -> int | None:
    """The pair that follows in the queue; None at the end.

    The given pair need not be in the queue (any more): a pair that was just decided still marks the
    curator's position. Raises `MissingRow` if it does not exist.
    """
    return _first_id(session, filter, _place(session, filter, after_pair_id))


def following(
    session: Session, filter: QueueFilter, after_pair_id: int, limit: int
) -> tuple[QueueRow, ...]:
    """At most `limit` pairs that follow in the queue. Otherwise like `next_pair`."""
    place = _place(session, filter, after_pair_id)
    return tuple(_queue_row(row) for row in _rows(session, filter, place, limit))


def previous_pair(session: Session, filter: QueueFilter, before_pair_id: int) -> int | None:
    """The pair that precedes in the queue; None at the start. Otherwise like `next_pair`."""
    return _first_id(session, filter, _place(session, filter, before_pair_id), backwards=True)


@dataclass(frozen=True)
class _Segment:
    conditions: tuple[ColumnElement[bool], ...]
    order: tuple[ColumnElement[Any], ...]


def _column(session: Session, filter: QueueFilter) -> ColumnElement[Any] | None:
    """The column of the filter's order; None for the order of import."""
    if filter.order in MEASURES or filter.order in _BY_PROBABILITY:
        return _number(session, filter.dataset_id, filter.order)
    if filter.order.startswith(EXTRA):
        return _extra(session, filter.order.removeprefix(EXTRA))
    match filter.order:
        case "position":
            return None
        case "random":
            return Pair.random_key.expression
        case "picture":
            return PICTURE
        case "caption":
            return CAPTION_START
        case "decision":
            return verdict_seen(session, filter.dataset_id).decision
        case "note":
            return func.nullif(verdict_seen(session, filter.dataset_id).note, "")
        case "tag":
            return first_tag()
    return getattr(Pair, filter.order).expression


def _extra(session: Session, name: str) -> ColumnElement[Any]:
    """A column of the source by which pairs can be sorted: numbers as numbers, anything but text,
    numbers and truth values by its JSON; NULL if a pair does not have it."""
    if session.get_bind().dialect.name != "postgresql":
        return func.json_extract(Pair.extra, f'$."{name}"')
    value: Any = cast(Pair.extra, JSONB)[name]
    kind = func.jsonb_typeof(value)
    return case(
        (kind.in_(("string", "number", "boolean")), value),
        (kind.in_(("object", "array")), func.to_jsonb(cast(value, Text))),
    )


def column_counts(session: Session, dataset_id: int, name: str, at_most: int) -> dict[str, int]:
    """How many pairs have each value of a column of the source, the most frequent values first."""
    value, number = cast(_extra(session, name), Text), func.count().label("number")
    query = select(value, number).where(Pair.dataset_id == dataset_id, value.is_not(None))
    rows = session.execute(query.group_by(value).order_by(number.desc()).limit(at_most))
    # PostgreSQL gives the JSON of a text.
    return {str(text).strip('"'): int(count) for text, count in rows.tuples()}


def _number(session: Session, dataset_id: int, name: str) -> ColumnElement[float | None]:
    """The numbers of a measure; the column itself where they have one, for its index."""
    if name in _BY_PROBABILITY:
        return _p_error(session, dataset_id).expression
    return number_column(name)


def _p_error(session: Session, dataset_id: int) -> InstrumentedAttribute[float | None]:
    """The column of the probability of error, queried once per session."""
    key = ("ranking", dataset_id)
    if key not in session.info:
        session.info[key] = ranking_of(session, dataset_id)
    return column_of(session.info[key])


def _segments(
    session: Session, filter: QueueFilter, place: Cursor | None, backwards: bool = False
) -> Iterator[_Segment]:
    """The ranges that follow (or, backwards, precede) a position, nearest first."""
    column = _column(session, filter)
    if column is None:
        yield _by_id((), (not filter.descending) != backwards, place)
        return
    values_descend = filter.descending != backwards
    # As in the indexes (`models.py`): ids ascend from the worst value on.
    measure = MEASURES.get(filter.order)
    ties_ascend = values_descend == (measure is not None and measure.worst == "high")
    unknown_ascend = not backwards
    limits = tuple(_limits(filter.where, filter.order, column)) if filter.where else ()
    has_value = (column.is_not(None), *limits)
    # A range over the ordering column excludes unknown values: skip their segment.
    bounded = filter.order in _COMPLETE or _is_bounded(filter, filter.order)
    by_value = (
        column.desc() if values_descend else column.asc(),
        Pair.id.asc() if ties_ascend else Pair.id.desc(),
    )
    if place is None:
        yield _Segment(has_value, by_value)
        if not bounded:
            yield _by_id((column.is_(None),), unknown_ascend, None)
    elif place.value is None:
        if not bounded:
            yield _by_id((column.is_(None),), unknown_ascend, place)
        if backwards:
            yield _Segment(has_value, by_value)
    else:
        value = bindparam("place_value", type_=column.type)
        yield _by_id((column == value,), ties_ascend, place)
        beyond = column < value if values_descend else column > value
        yield _Segment((beyond, *limits), by_value)
        if not backwards and not bounded:
            yield _by_id((column.is_(None),), unknown_ascend, None)


def _limits(
    group: Group[QueueFilter], order: str, column: ColumnElement[Any]
) -> Iterator[ColumnElement[bool]]:
    """What a group without some values says of all others, so that the index of an order is read
    from there: a condition that is not true of a value cannot be looked up in it."""
    for part in group.parts:
        if isinstance(part, Group):
            if group.how == "all":
                yield from _limits(part, order, column)
        elif group.how == "none" and part == QueueFilter(part.dataset_id, ranges=part.ranges[:1]):
            for range in part.ranges:
                if range.column == order and range.maximum is None:
                    yield column < range.minimum
                elif range.column == order and range.minimum is None:
                    yield column > range.maximum


def _is_bounded(filter: QueueFilter, name: str) -> bool:
    return any(
        range.column == name and (range.minimum, range.maximum) != (None, None)
        for range in filter.ranges
    )


def _by_id(
    conditions: tuple[ColumnElement[bool], ...], ascending: bool, place: Cursor | None
) -> _Segment:
    if place is not None:
        edge = bindparam("place_id")
        beyond = Pair.id > edge if ascending else Pair.id < edge
        conditions = (*conditions, beyond)
    return _Segment(conditions, (Pair.id.asc() if ascending else Pair.id.desc(),))


def _held_by_others(reader: str) -> Select[int]:
    """The pairs on other screens: few, so that they are read once for the whole queue."""
    moment = bindparam(None, callable_=now, type_=Hold.expires_at.type)
    return select(Hold.pair_id).where(Hold.curator != reader, Hold.expires_at > moment)


def conditions_of(session: Session, filter: QueueFilter) -> list[ColumnElement[bool]]:
    """That a pair is in the queue."""
    conditions = [Pair.dataset_id == filter.dataset_id, Pair.hidden.is_(False)]
    if filter.reader is not None:
        conditions.append(Pair.id.not_in(_held_by_others(filter.reader)))
    if filter.among is not None:
        conditions.append(Pair.id.in_(filter.among))
    if filter.without:
        conditions.append(Pair.id.not_in(filter.without))
    return [*conditions, *_criteria(session, filter)]


def _group(session: Session, group: Group[QueueFilter]) -> ColumnElement[bool]:
    parts = [
        _group(session, part)
        if isinstance(part, Group)
        else and_(true(), *_criteria(session, part))
        for part in group.parts
    ]
    if group.how == "all":
        return and_(true(), *parts)
    # Not `NOT`: a pair without a value does not meet a condition about it.
    return or_(*parts) if group.how == "any" else or_(*parts).is_not(true())


def _criteria(session: Session, filter: QueueFilter) -> list[ColumnElement[bool]]:
    """What the filter says of a pair, wherever it stands."""
    verdict = verdict_seen(session, filter.dataset_id)
    conditions: list[ColumnElement[bool]] = []
    if filter.where is not None:
        conditions.append(_group(session, filter.where))
    if filter.review == "unreviewed":
        conditions.append(verdict.is_undecided)
    elif filter.review == "decided":
        conditions.append(~verdict.is_undecided)
    elif filter.review == "disputed":
        conditions.append(Pair.id.in_(disputed_ids(session, filter.dataset_id)))
    conditions += [
        column == value
        for column, value in (
            (Pair.suspect_word, filter.suspect_word),
            (Pair.suspect_kind, filter.suspect_kind),
            (verdict.decision, filter.decision),
            (Pair.split, filter.split),
            (verdict.decided_by, filter.decided_by),
            (Pair.truncated, filter.truncated),
        )
        if value is not None
    ]
    if filter.vague is not None:
        has_vague = func.coalesce(Pair.vague_claims, 0) > 0
        conditions.append(has_vague if filter.vague else ~has_vague)
    for range in filter.ranges:
        number = _number(session, filter.dataset_id, range.column)
        if range.minimum is not None:
            conditions.append(number >= range.minimum)
        if range.maximum is not None:
            conditions.append(number <= range.maximum)
    if filter.external_id is not None:
        check_text(filter.external_id, "The id to search for")
        conditions.append(Pair.external_id.contains(filter.external_id, autoescape=True))
    if filter.extra is not None:
        column, value = filter.extra
        conditions.append(cast(Pair.extra[column].as_string(), String) == value)
    conditions += [each.condition(each.value) for each in filter.added]
    if filter.captioned is not None:
        # So written that the index of captions serves it.
        lacks = and_(CAPTION_START == "", verdict.decision.is_distinct_from("correction"))
        conditions.append(has_caption(verdict) if filter.captioned else lacks)
    if filter.tag is not None:
        conditions.append(has_tag(filter.tag))
    if filter.note or filter.noted:
        conditions.append(verdict.note != "")
    elif filter.noted is False:
        conditions.append(verdict.note == "")
    if filter.note and filter.note.strip():
        check_text(filter.note, "The text to search for")
        conditions.append(verdict.note.icontains(filter.note.strip(), autoescape=True))
    if filter.text and filter.text.strip():
        conditions.append(_holds(session, filter.text))
    return conditions


def has_caption(verdict: SeenVerdict) -> ColumnElement[bool]:
    """Condition: the source has a caption, or somebody has accepted one."""
    return or_(Pair.caption != "", verdict.decision.is_not_distinct_from("correction"))


def _is_search(filter: QueueFilter) -> bool:
    """Whether nothing but its text and the state of the review tells what is in the queue."""
    return filter == QueueFilter(
        filter.dataset_id, filter.review, text=filter.text, order=filter.order,
        descending=filter.descending, reader=filter.reader,
    )  # fmt: skip


def _holds(session: Session, text: str) -> ColumnElement[bool]:
    """Condition: the caption contains the text, ignoring case, by the trigram index."""
    matches = _matches(session, text)
    if matches is not None:
        return Pair.id.in_(matches)
    return Pair.caption.icontains(text.strip(), autoescape=True)


def _matches(session: Session, text: str) -> Select[int] | None:
    """The rowids of the captions that contain the text, as SQLite's index of trigrams lists them;
    None: it cannot."""
    text = text.strip()
    check_text(text, "The text to search for")
    if session.get_bind().dialect.name == "postgresql" or len(text) < SHORTEST:
        return None
    captions = table("pair_captions", column("rowid"))
    phrase = '"' + text.replace('"', '""') + '"'  # a quoted phrase has no operators
    matching = literal_column("pair_captions").match(phrase)
    return select(captions.c.rowid).where(matching)


def _first_id(
    session: Session, filter: QueueFilter, place: Cursor | None, backwards: bool = False
) -> int | None:
    rows = _rows(session, filter, place, 1, backwards)
    return int(rows[0].pair_id) if rows else None


def _rows(
    session: Session,
    filter: QueueFilter,
    place: Cursor | None,
    limit: int,
    backwards: bool = False,
) -> list[Row[Any]]:
    """At most `limit` rows after (or, backwards, before) a position, nearest first."""
    dataset_id = filter.dataset_id
    key, last = ("ranking", dataset_id), (session.get_bind().engine.url, dataset_id)
    if filter.order not in _BY_PROBABILITY and not _is_bounded(filter, "p_error"):
        return _rows_by(session, filter, place, limit, backwards)
    # A key press should not cost a statement that queries the ranking: the last one seen is
    # assumed, and the rows contain the actual one.
    guess = session.info.setdefault(key, _last_rankings.get(last, 0))
    rows = _rows_by(session, filter, place, limit, backwards)
    actual = rows[0].ranking if rows else ranking_of(session, dataset_id)
    session.info[key] = _last_rankings[last] = actual
    return rows if actual == guess else _rows_by(session, filter, place, limit, backwards)


def _rows_by(
    session: Session, filter: QueueFilter, place: Cursor | None, limit: int, backwards: bool
) -> list[Row[Any]]:
    if filter.among is not None:
        return _listed_rows(session, filter, place, limit, backwards)
    if filter.where is None and filter.text is None and filter.order != "uncertainty":
        return _rows_in_turn(session, filter, place, limit, backwards)
    streams: list[list[Any]] = []
    for stream in _streams(session, filter, place, backwards):
        rows: list[Any] = []
        for segment in stream:
            of_segment = _rows_near(session, filter, segment, place, limit - len(rows))
            if of_segment is None:
                query = _rows_of(session, filter, segment).limit(limit - len(rows))
                of_segment = run(session, query, **_values(place)).all()
            rows += of_segment
            if len(rows) == limit:
                break
        streams.append(rows)
    if len(streams) == 1:
        return streams[0]

    def distance(row: Row[Any]) -> tuple[float, int]:
        return math.inf if row.p_error is None else abs(row.p_error - 0.5), row.pair_id

    by_distance = heapq.merge(*streams, key=distance, reverse=backwards)
    return list(islice(by_distance, limit))


def _rows_of(session: Session, filter: QueueFilter, segment: _Segment) -> Select[*tuple[Any, ...]]:
    conditions = (*conditions_of(session, filter), *segment.conditions)
    return select(*_columns(session, filter)).where(*conditions).order_by(*segment.order)


def _values(place: Cursor | None) -> dict[str, Any]:
    """The values of the parameters of segments."""
    value, pair_id = (None, None) if place is None else (place.value, place.pair_id)
    return {"place_value": value, "place_id": pair_id}


def _rows_in_turn(
    session: Session, filter: QueueFilter, place: Cursor | None, limit: int, backwards: bool
) -> list[Row[Any]]:
    """`_rows_by` of a queue of one stream without searches."""
    ranking, number = session.info.get(("ranking", filter.dataset_id), 0) % 2, 0
    # The statement depends on whether there is a value, not on which.
    start = place and Cursor(None if place.value is None else "a value", 0)
    of_segment = partial(
        _segment_query, session, filter.dataset_id, filter, start, backwards, ranking
    )
    rows: list[Row[Any]] = []
    while len(rows) < limit and (query := of_segment(number)) is not None:
        rows += run(session, query, at_most=limit - len(rows), **_values(place)).all()
        number += 1
    return rows


@built_once
def _segment_query(
    session: Session,
    dataset_id: int | None,
    filter: QueueFilter,
    place: Cursor | None,
    backwards: bool,
    ranking: int,
    number: int,
) -> Select[*tuple[Any, ...]] | None:
    """The query of one of the `_segments`; None: there are no more. `ranking`: the session's."""
    segment = next(islice(_segments(session, filter, place, backwards), number, None), None)
    if segment is None:
        return None
    return _rows_of(session, filter, segment).limit(bindparam("at_most"))


def _rows_near(
    session: Session, filter: QueueFilter, segment: _Segment, place: Cursor | None, limit: int
) -> Sequence[Row[Any]] | None:
    """What a search on SQLite finds among the first `_NEAR` pairs of a segment; None if it has to
    look further. A frequent text is found there at once; all of its matches are a long list."""
    text = (filter.text or "").strip()
    matches = _matches(session, text) if _is_search(filter) else None
    if matches is None or not text.isascii() or filter.order not in WITH_INDEX:
        return None
    # Beyond ASCII the index takes other letters for equal. It is read only if there are such: of a
    # CASE, unlike OR, no more is computed than it takes.
    holds = case(
        (Pair.caption.icontains(text, autoescape=True), true()),
        (Pair.caption.op("GLOB")("*[^\x01-\x7f]*"), Pair.id.in_(matches)),
        else_=false(),
    )
    others = conditions_of(session, replace(filter, text=None))
    first = select(Pair.id, holds).where(*others, *segment.conditions).order_by(*segment.order)
    pairs = run(session, first.limit(_NEAR), **_values(place)).all()
    ids = [pair_id for pair_id, is_match in pairs if is_match][:limit]
    if len(ids) < limit and len(pairs) == _NEAR:
        return None
    rows: Sequence[Any] = session.execute(
        select(*_columns(session, filter)).where(Pair.id.in_(ids))
    ).all()
    rank = {pair_id: number for number, pair_id in enumerate(ids)}
    return sorted(rows, key=lambda row: rank[row.pair_id])


def _listed_rows(
    session: Session, filter: QueueFilter, place: Cursor | None, limit: int, backwards: bool
) -> list[Row[Any]]:
    """Like `_rows`, for the listed pairs of `filter.among`, which are few enough to read all."""
    assert filter.among is not None
    rank = {pair_id: number for number, pair_id in enumerate(filter.among)}
    rows: Sequence[Any] = session.execute(
        select(*_columns(session, filter)).where(*conditions_of(session, filter))
    ).all()
    listing = sorted(rows, key=lambda row: rank[row.pair_id], reverse=backwards)
    if place is not None:
        edge = rank.get(place.pair_id, -1)
        listing = [
            row
            for row in listing
            if (rank[row.pair_id] < edge if backwards else rank[row.pair_id] > edge)
        ]
    return listing[:limit]


def _streams(
    session: Session, filter: QueueFilter, place: Cursor | None, backwards: bool = False
) -> list[Iterator[_Segment]]:
    """The streams to merge: one, or for uncertainty the two sides of 0.5 and the unknown values."""
    if filter.order != "uncertainty":
        return [_segments(session, filter, place, backwards)]
    p_error = _p_error(session, filter.dataset_id)
    distance = func.abs(p_error - 0.5)
    value = None if place is None else place.value
    start = abs(value - 0.5) if isinstance(value, float) else math.inf
    further: tuple[ColumnElement[bool], ...] = ()
    if place is not None and place.value is not None:
        tie = and_(
            distance == start,
            Pair.id < place.pair_id if backwards else Pair.id > place.pair_id,
        )
        further = (or_(distance < start if backwards else distance > start, tie),)
    streams: list[Iterator[_Segment]] = []
    if place is None or place.value is not None or backwards:
        for above in (True, False):
            side = p_error >= 0.5 if above else p_error < 0.5
            bound: tuple[ColumnElement[bool], ...] = ()
            if further:
                edge = start + _SLACK if backwards else start - _SLACK
                limit = 0.5 + edge if above else 0.5 - edge
                bound = (p_error <= limit if above == backwards else p_error >= limit,)
            rising = p_error.asc() if above != backwards else p_error.desc()
            ties = Pair.id.desc() if backwards else Pair.id.asc()
            streams.append(iter([_Segment((side, *bound, *further), (rising, ties))]))
    unknown = place is None or place.value is None or not backwards
    if unknown and not _is_bounded(filter, "p_error"):
        behind = place if place is not None and place.value is None else None
        streams.append(iter([_by_id((p_error.is_(None),), not backwards, behind)]))
    return streams


def _place(session: Session, filter: QueueFilter, pair_id: int) -> Cursor:
    query = _place_query(session, filter.dataset_id, filter.order)
    values = {"pair_id": pair_id, "dataset_id": filter.dataset_id}
    row: Any = run(session, query, **values).one_or_none()
    if row is None:
        raise MissingRow(f"There is no pair {pair_id} in this dataset.")
    # Every key press runs this: one statement for the place and the column.
    session.info["ranking", filter.dataset_id] = row.ranking
    return Cursor(row.place, pair_id)


@built_once
def _place_query(session: Session, dataset_id: int | None, order: str) -> Select[*tuple[Any, ...]]:
    filter = QueueFilter(dataset_id or 0, order=order)
    of_pair = Pair.id == bindparam("pair_id"), Pair.dataset_id == bindparam("dataset_id")
    return select(*_place_columns(session, filter)).where(*of_pair)
