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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    Text,
    and_,
    bindparam,
    case,
    cast,
    exists,
    false,
    func,
    null,
    or_,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.engine import URL
from sqlalchemy.orm import Session

from db.caption_search import SHORTEST
from db.errors import MissingRow
from db.measures import MEASURES
from db.models import CAPTION_START, PICTURE, Pair
from db.queries.blind_review import built_once, pair_columns, verdict_seen
from db.queries.number_columns import SortKey, rows_in_order, within
from db.queries.queue_conditions import (
    BY_PROBABILITY,
    conditions_of,
    contains_text,
    held_by_others,
    is_search,
    matching_ids,
    number_of,
    p_error_of,
)
from db.queries.queue_filter import EXTRA, Cursor, Group, QueueFilter, QueuePage, QueueRow
from db.queries.ranking_queries import P_ERROR, RANKING, ranking_of
from db.queries.statements import record_of, run
from db.queries.tag_queries import first_tag

#: Orders by text that every pair has.
_COMPLETE = ("picture", "external_id", "caption")
#: Orders in which an index has the pairs, besides those by measures.
WITH_INDEX = (
    "uncertainty", "position", "random", "picture", "external_id", "caption", "split",
)  # fmt: skip
#: Distances are compared exactly; the range read from the index is wider by this much.
_SLACK = 1e-9
#: So many pairs are looked at in their order before all that match are listed.
_NEAR = 1000


def _columns(session: Session, filter: QueueFilter) -> tuple[ColumnElement[Any], ...]:
    columns = pair_columns(session, QueueRow.__dataclass_fields__, filter.dataset_id)
    return *columns, *_place_columns(session, filter)


def _place_columns(session: Session, filter: QueueFilter) -> tuple[ColumnElement[Any], ...]:
    """The value by which the queue is ordered, and the ranking in use."""
    is_by_probability = filter.order in BY_PROBABILITY
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
    matches = matching_ids(session, filter.text or "") if is_search(filter) else None
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
    is_held = Pair.id.in_(held_by_others(filter.reader))
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
    """`joined`: those of the conditions that join the table by which it is ordered."""

    conditions: tuple[ColumnElement[bool], ...]
    order: tuple[ColumnElement[Any], ...]
    joined: tuple[ColumnElement[bool], ...] = ()


def _column(session: Session, filter: QueueFilter) -> ColumnElement[Any] | None:
    """The column of the filter's order; None for the order of import."""
    if filter.order in MEASURES or filter.order in BY_PROBABILITY:
        return number_of(session, filter.dataset_id, filter.order)
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


def _sort_key(session: Session, filter: QueueFilter) -> SortKey | None:
    """What the filter's order sorts by; None for the order of import."""
    measure = MEASURES.get(filter.order)
    if measure is not None and not measure.is_column:
        return rows_in_order(filter.dataset_id, measure.name)
    column = _column(session, filter)
    return None if column is None else SortKey(column, Pair.id.expression, column.is_(None))


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


def _segments(
    session: Session, filter: QueueFilter, place: Cursor | None, backwards: bool = False
) -> Iterator[_Segment]:
    """The ranges that follow (or, backwards, precede) a position, nearest first."""
    key = _sort_key(session, filter)
    if key is None:
        yield _by_id((), (not filter.descending) != backwards, place)
        return
    column, values_descend = key.value, filter.descending != backwards
    # As in the indexes (`models.py`): ids ascend from the worst value on, or with the values.
    measure = MEASURES.get(filter.order)
    is_column_from_high = measure is not None and measure.is_column and measure.worst == "high"
    ties_ascend = values_descend == is_column_from_high
    unknown_ascend = not backwards
    limits = (*key.joined, *_limits(filter, key))
    has_value = (column.is_not(None), *limits)
    # A range over the ordering column excludes unknown values: skip their segment.
    bounded = filter.order in _COMPLETE or _is_bounded(filter, filter.order)
    by_value = (
        column.desc() if values_descend else column.asc(),
        key.id.asc() if ties_ascend else key.id.desc(),
    )
    if place is None:
        yield _Segment(has_value, by_value, key.joined)
        if not bounded:
            yield _by_id((key.is_unknown,), unknown_ascend, None)
    elif place.value is None:
        if not bounded:
            yield _by_id((key.is_unknown,), unknown_ascend, place)
        if backwards:
            yield _Segment(has_value, by_value, key.joined)
    else:
        value = bindparam("place_value", type_=column.type)
        yield _by_id((*key.joined, column == value), ties_ascend, place, key)
        beyond = column < value if values_descend else column > value
        yield _Segment((beyond, *limits), by_value, key.joined)
        if not backwards and not bounded:
            yield _by_id((key.is_unknown,), unknown_ascend, None)


def _limits(filter: QueueFilter, key: SortKey) -> Iterator[ColumnElement[bool]]:
    """What the filter says of the values that pairs are sorted by, so that no others are read; a
    range of a column of `pairs` is known as such."""
    if filter.where is not None:
        yield from _limits_of_others(filter.where, filter.order, key.value)
    for range in filter.ranges:
        if range.column == filter.order and key.joined:
            yield from within(key.value, range)


def _limits_of_others(
    group: Group[QueueFilter], order: str, column: ColumnElement[Any]
) -> Iterator[ColumnElement[bool]]:
    """What a group without some values says of all others, so that the index of an order is read
    from there: a condition that is not true of a value cannot be looked up in it."""
    for part in group.parts:
        if isinstance(part, Group):
            if group.how == "all":
                yield from _limits_of_others(part, order, column)
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
    conditions: tuple[ColumnElement[bool], ...],
    ascending: bool,
    place: Cursor | None,
    key: SortKey | None = None,
) -> _Segment:
    """Pairs in order of id, which is that of the `key`, if it is given."""
    id = Pair.id if key is None else key.id
    if place is not None:
        edge = bindparam("place_id")
        conditions = (*conditions, id > edge if ascending else id < edge)
    order = (id.asc() if ascending else id.desc(),)
    return _Segment(conditions, order, () if key is None else key.joined)


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
    if filter.order not in BY_PROBABILITY and not _is_bounded(filter, "p_error"):
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
            queries = _queries(session, filter, segment)
            rows += _rows_of_segment(session, queries, place, limit - len(rows))
            if len(rows) == limit:
                break
        streams.append(rows)
    if len(streams) == 1:
        return streams[0]

    def distance(row: Row[Any]) -> tuple[float, int]:
        return math.inf if row.p_error is None else abs(row.p_error - 0.5), row.pair_id

    by_distance = heapq.merge(*streams, key=distance, reverse=backwards)
    return list(islice(by_distance, limit))


@dataclass(frozen=True)
class _Queries:
    """Of a segment: `rows`, of the queue; `nearest`, those of the queue among its first `_NEAR`
    pairs, and `count`, how many pairs these are; None: the rows are found as fast without."""

    rows: Select[*tuple[Any, ...]]
    nearest: Select[*tuple[Any, ...]] | None = None
    count: Select[int] | None = None


def _queries(session: Session, filter: QueueFilter, segment: _Segment) -> _Queries:
    columns, order = _columns(session, filter), segment.order
    # Of the order's own numbers, the segment has those in its range.
    conditions = conditions_of(session, filter, (filter.order,))
    at_most = bindparam("at_most")
    rows = select(*columns).where(*conditions, *segment.conditions).order_by(*order).limit(at_most)
    if not _looks_ahead(session, filter):
        return _Queries(rows)
    contains: tuple[ColumnElement[bool], ...] = ()
    if filter.text:
        contains = (_holds_ascii(session, filter.text.strip()),)
    # Those that are decided may be all pairs at the head of the queue.
    review = "unreviewed" if filter.review == "unreviewed" else "all"
    shown = conditions_of(session, QueueFilter(filter.dataset_id, review, reader=filter.reader))
    pairs = select(Pair.id).where(*shown, *segment.conditions)
    first = pairs.order_by(*order).limit(bindparam("near")).correlate(None)
    # No index serves a CASE: these pairs are read, and no others.
    conditions = conditions_of(session, replace(filter, text=None), tuple(MEASURES))
    is_in_queue = case((and_(*conditions, *contains), true()), else_=false())
    are_next = (Pair.id.in_(first), *segment.joined)
    nearest = select(*columns).where(*are_next, is_in_queue).order_by(*order)
    count = select(func.count()).select_from(first.subquery())
    return _Queries(rows, nearest.limit(at_most), count)


def _looks_ahead(session: Session, filter: QueueFilter) -> bool:
    """Whether a queue is first looked for among the pairs that come next in its order. SQLite has
    no statistics: it reads a range by its own index and sorts all of it, however long it is, and
    lists all captions with a text."""
    text = (filter.text or "").strip()
    in_order = BY_PROBABILITY if filter.order in BY_PROBABILITY else (filter.order,)
    by_other_index = (
        filter.where is not None
        or any(range.column not in in_order for range in filter.ranges)
        or (text.isascii() and len(text) >= SHORTEST)
    )
    is_sqlite = session.get_bind().dialect.name == "sqlite"
    return is_sqlite and by_other_index and (filter.order in WITH_INDEX or filter.order in MEASURES)


def _holds_ascii(session: Session, text: str) -> ColumnElement[bool]:
    """Condition: the caption contains a text of ASCII's letters. The index of captions takes other
    letters for equal to these; it is read only for captions with such."""
    is_in_index = contains_text(session, text)
    return case(
        (Pair.caption.icontains(text, autoescape=True), true()),
        (Pair.caption.op("GLOB")("*[^\x01-\x7f]*"), is_in_index),
        else_=false(),
    )


def _rows_of_segment(
    session: Session, queries: _Queries, place: Cursor | None, limit: int
) -> Sequence[Row[Any]]:
    values = {"at_most": limit, "near": _NEAR, **_values(place)}
    if queries.nearest is not None and queries.count is not None:
        rows = run(session, queries.nearest, **values).all()
        if len(rows) == limit or run(session, queries.count, **values).scalar_one() < _NEAR:
            return rows
    return run(session, queries.rows, **values).all()


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
        _segment_queries, session, filter.dataset_id, filter, start, backwards, ranking
    )
    rows: list[Row[Any]] = []
    while len(rows) < limit and (queries := of_segment(number)) is not None:
        rows += _rows_of_segment(session, queries, place, limit - len(rows))
        number += 1
    return rows


@built_once
def _segment_queries(
    session: Session,
    dataset_id: int | None,
    filter: QueueFilter,
    place: Cursor | None,
    backwards: bool,
    ranking: int,
    number: int,
) -> _Queries | None:
    """Of one of the `_segments`; None: there are no more. `ranking`: the session's."""
    segment = next(islice(_segments(session, filter, place, backwards), number, None), None)
    return None if segment is None else _queries(session, filter, segment)


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
    p_error = p_error_of(session, filter.dataset_id)
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
