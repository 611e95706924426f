"""What the pairs of a queue say, field by field: the numbers and words behind a drawer of filters.

Read in the fixed random order: the first pairs of a long queue are a random sample of it.
"""

from typing import Any

from sqlalchemy import Row, func, literal, select, union_all
from sqlalchemy.orm import Session

from db.models import NearDuplicate, Pair, PairTag, PictureIssue
from db.queries.blind_review import pair_columns, verdict_seen
from db.queries.pair_queue import RANGES, QueueFilter, conditions_of, has_caption

#: What `values_of` reads: numbers, and words or flags (a note: whether there is one).
WORDS = ("decision", "decided_by", "split", "suspect_kind", "truncated", "note")


def values_of(session: Session, filter: QueueFilter, limit: int) -> list[Row[Any]]:
    """RANGES, WORDS and `captioned` of at most `limit` pairs, verdicts as the reader sees them."""
    columns = pair_columns(session, (*RANGES, *WORDS), filter.dataset_id)
    captioned = has_caption(verdict_seen(session, filter.dataset_id))
    return list(session.execute(_first(session, filter, limit, *columns, captioned)))


def names_of(session: Session, filter: QueueFilter, limit: int) -> list[tuple[str, str, int]]:
    """Field, name and number of pairs of the tags and issues that the same pairs have, and of
    near duplicates, whose name is "yes"."""
    first_pairs = _first(session, filter, limit, Pair.id).cte("first_pairs")
    duplicates = select(literal("duplicates"), literal("yes"), func.count())
    counts = [
        select(literal(field), name, func.count())
        .join_from(first_pairs, table, table.pair_id == first_pairs.c.id)
        .group_by(name)
        for field, table, name in (
            ("tag", PairTag, PairTag.name),
            ("picture", PictureIssue, PictureIssue.issue),
        )
    ]
    counts.append(
        duplicates.join_from(first_pairs, NearDuplicate, NearDuplicate.pair_id == first_pairs.c.id)
    )
    return [(field, name, count) for field, name, count in session.execute(union_all(*counts))]


def _first(session: Session, filter: QueueFilter, limit: int, *columns: Any) -> Any:
    query = select(*columns).where(*conditions_of(session, filter))
    return query.order_by(Pair.random_key, Pair.id).limit(limit)
