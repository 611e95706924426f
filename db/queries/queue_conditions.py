"""The filters of a queue as SQL conditions."""

from collections.abc import Collection

from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    and_,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    or_,
    select,
    table,
    true,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.caption_search import SHORTEST
from db.column_types import now
from db.measures import MEASURES
from db.models import CAPTION_START, Hold, Pair
from db.queries.blind_review import SeenVerdict, verdict_seen
from db.queries.number_columns import has_number_within, number_column, within
from db.queries.opinion_queries import disputed_ids
from db.queries.queue_filter import Group, QueueFilter
from db.queries.ranking_queries import column_of, ranking_of
from db.queries.statements import check_text
from db.queries.tag_queries import has_tag

#: Orders by the probability of error.
BY_PROBABILITY = ("p_error", "uncertainty")


def number_of(session: Session, dataset_id: int, name: str) -> ColumnElement[float | None]:
    """The numbers of a measure; the column itself where they have one, for its index."""
    if name in BY_PROBABILITY:
        return p_error_of(session, dataset_id).expression
    return number_column(name)


def held_by_others(reader: str) -> Select[int]:
    """The pairs on other screens: few, so that they are read once for the whole queue."""
    moment = bindparam(None, callable_=now, type_=Hold.expires_at.type)
    return select(Hold.pair_id).where(Hold.curator != reader, Hold.expires_at > moment)


def conditions_of(
    session: Session, filter: QueueFilter, looked_up: Collection[str] = ()
) -> list[ColumnElement[bool]]:
    """That a pair is in the queue. `looked_up`: measures of whose numbers that of each pair is
    looked up; of others without a column, the pairs in a range are listed first."""
    conditions = [Pair.dataset_id == filter.dataset_id, Pair.hidden.is_(False)]
    if filter.reader is not None:
        conditions.append(Pair.id.not_in(held_by_others(filter.reader)))
    if filter.among is not None:
        conditions.append(Pair.id.in_(filter.among))
    if filter.without:
        conditions.append(Pair.id.not_in(filter.without))
    return [*conditions, *_criteria(session, filter, looked_up)]


def _group(
    session: Session, group: Group[QueueFilter], looked_up: Collection[str]
) -> ColumnElement[bool]:
    parts = [
        _group(session, part, looked_up)
        if isinstance(part, Group)
        else and_(true(), *_criteria(session, part, looked_up))
        for part in group.parts
    ]
    if group.how == "all":
        return and_(true(), *parts)
    # Not `NOT`: a pair without a value does not meet a condition about it.
    return or_(*parts) if group.how == "any" else or_(*parts).is_not(true())


def _criteria(
    session: Session, filter: QueueFilter, looked_up: Collection[str]
) -> list[ColumnElement[bool]]:
    """What the filter says of a pair, wherever it stands."""
    verdict = verdict_seen(session, filter.dataset_id)
    conditions: list[ColumnElement[bool]] = []
    if filter.where is not None:
        conditions.append(_group(session, filter.where, looked_up))
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
        if MEASURES[range.column].is_column or range.column in looked_up:
            number = number_of(session, filter.dataset_id, range.column)
            conditions += within(number, range)
        else:
            conditions += has_number_within(filter.dataset_id, range)
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
        conditions.append(contains_text(session, filter.text))
    return conditions


def has_caption(verdict: SeenVerdict) -> ColumnElement[bool]:
    """Condition: the source has a caption, or somebody has accepted one."""
    return or_(Pair.caption != "", verdict.decision.is_not_distinct_from("correction"))


def is_search(filter: QueueFilter) -> bool:
    """Whether nothing but its text and the state of the review tells what is in the queue."""
    return filter == QueueFilter(
        filter.dataset_id, filter.review, text=filter.text, order=filter.order,
        descending=filter.descending, reader=filter.reader,
    )  # fmt: skip


def contains_text(session: Session, text: str) -> ColumnElement[bool]:
    """Condition: the caption contains the text, ignoring case, by the trigram index."""
    matches = matching_ids(session, text)
    if matches is not None:
        return Pair.id.in_(matches)
    return Pair.caption.icontains(text.strip(), autoescape=True)


def matching_ids(session: Session, text: str) -> Select[int] | None:
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


def p_error_of(session: Session, dataset_id: int) -> InstrumentedAttribute[float | None]:
    """The column of the probability of error, queried once per session."""
    key = ("ranking", dataset_id)
    if key not in session.info:
        session.info[key] = ranking_of(session, dataset_id)
    return column_of(session.info[key])
