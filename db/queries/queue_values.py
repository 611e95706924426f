"""What the pairs of a queue say, field by field: the numbers and words behind a drawer of filters.

The first pairs of a queue in the fixed random order are a random sample of it.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Row, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.measures import filter_names
from db.models import Pair
from db.queries.blind_review import pair_columns, verdict_seen
from db.queries.queue_conditions import conditions_of, has_caption
from db.queries.queue_filter import QueueFilter
from db.queries.queue_queries import count

#: What `draw` reads: numbers, and words or flags (a note: whether there is one).
WORDS = (
    "decision", "decided_by", "split", "suspect_kind", "truncated", "note", "vague_claims",
)  # fmt: skip
#: A queue of at most so many pairs is read as a whole to draw from it.
_SHORT = 10_000


def draw(session: Session, filter: QueueFilter, limit: int) -> tuple[list[Row[Any]], bool]:
    """At most `limit` pairs of a queue, drawn at random, and whether there are more: the id,
    `filter_names`, WORDS and `captioned` of each, verdicts as the reader sees them."""
    length = count(session, filter, _SHORT + 1)
    # A long queue is read by the index of its order, a short one by that which suits its filter:
    # no index has the sum.
    key: Any = Pair.random_key if length > _SHORT else Pair.random_key + 0
    columns = pair_columns(session, ("pair_id", *filter_names(), *WORDS), filter.dataset_id)
    is_captioned = has_caption(verdict_seen(session, filter.dataset_id))
    query: Any = select(*columns, is_captioned).where(*conditions_of(session, filter))
    rows = session.execute(query.order_by(key, Pair.id).limit(limit)).all()
    return list(rows), length > limit


def count_by(
    session: Session, column: InstrumentedAttribute[str], pair_ids: Sequence[int]
) -> dict[str, int]:
    """How many rows of these pairs have each value of a column, whose table has `pair_id`."""
    of_pairs = select(column, func.count()).where(_is_among(column.class_.pair_id, pair_ids))
    return dict(session.execute(of_pairs.group_by(column)).tuples().all())


def count_among(
    session: Session, pair_id: InstrumentedAttribute[int], pair_ids: Sequence[int]
) -> int:
    """How many of these pairs have a row in the table of this column, whose rows are one a pair."""
    return session.execute(select(func.count()).where(_is_among(pair_id, pair_ids))).scalar_one()


def _is_among(column: Any, pair_ids: Sequence[int]) -> ColumnElement[bool]:
    """Condition, with the ids in the statement: thousands of parameters would cost more."""
    return column.in_([literal_column(", ".join(map(str, pair_ids)) or "NULL")])
