"""Holds: a pair on a curator's screen, or preloaded for it, is not given to others until its
curator has judged it or moved on, or its hold expires."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import Hold
from db.queries import queue_queries
from db.queries.queue_filter import QueueFilter
from db.queries.statements import chunks, insert_for

#: A curator who takes a longer break may lose the pair to others, but none of their verdicts.
HOLD_LASTS = timedelta(minutes=10)


def hold(session: Session, pair_id: int, curator: str) -> bool:
    """Hold the pair, or renew the hold; False if another curator holds it."""
    return bool(hold_each(session, [pair_id], curator))


def hold_each(session: Session, pair_ids: Sequence[int], curator: str) -> list[int]:
    """Hold several pairs, or renew their holds; returns those that no other curator holds, in the
    order given."""
    if not pair_ids:
        return []
    moment = now()
    # In order of id, so that two curators cannot deadlock.
    statement = insert_for(session, Hold).values(
        [
            {"pair_id": pair_id, "curator": curator, "expires_at": moment + HOLD_LASTS}
            for pair_id in sorted(set(pair_ids))
        ]
    )
    ids = session.scalars(
        statement.on_conflict_do_update(
            index_elements=[Hold.pair_id],
            set_={
                "curator": statement.excluded.curator,
                "expires_at": statement.excluded.expires_at,
            },
            where=or_(Hold.curator == curator, Hold.expires_at <= moment),
        ).returning(Hold.pair_id)
    )
    held_ids = set(ids)
    return [pair_id for pair_id in pair_ids if pair_id in held_ids]


def held_by_others(session: Session, pair_ids: Sequence[int], curator: str) -> set[int]:
    """Those of the pairs that others have on their screens; `curator` may be nobody's name."""
    others = select(Hold.pair_id).where(Hold.curator != curator, Hold.expires_at > now())
    return {
        pair_id
        for part in chunks(pair_ids, 1000)
        for pair_id in session.scalars(others.where(Hold.pair_id.in_(part)))
    }


def take_first(session: Session, filter: QueueFilter, curator: str) -> int | None:
    """Hold the first pair of the queue that nobody holds, in one transaction: concurrent requests
    get different pairs. `filter` is the queue as seen by this curator."""
    while (pair_id := queue_queries.first_pair(session, filter)) is not None:
        if _take(session, filter, pair_id, curator):
            return pair_id
    return None


def take_neighbour(
    session: Session, filter: QueueFilter, pair_id: int, curator: str, backwards: bool = False
) -> int | None:
    """Likewise the next pair of the queue that no other curator holds, or the previous one."""
    step = queue_queries.previous_pair if backwards else queue_queries.next_pair
    found: int | None = pair_id
    while found is not None:
        found = step(session, filter, found)
        if found is None or _take(session, filter, found, curator):
            return found
    return None


def _take(session: Session, filter: QueueFilter, pair_id: int, curator: str) -> bool:
    """Hold a pair that this transaction has found; False if another curator holds it, or has held,
    judged and released it since then. SQLite has one writer at a time."""
    if not hold(session, pair_id, curator):
        return False
    if session.get_bind().dialect.name != "postgresql" or _is_in(session, filter, pair_id):
        return True
    release(session, [pair_id], curator)
    return False


def _is_in(session: Session, filter: QueueFilter, pair_id: int) -> bool:
    if filter.among is not None and pair_id not in filter.among:
        return False
    return queue_queries.count(session, replace(filter, among=(pair_id,)), 1) > 0


def release(session: Session, pair_ids: Collection[int], curator: str) -> None:
    """Release those of the pairs that this curator holds."""
    if pair_ids:
        session.execute(delete(Hold).where(Hold.pair_id.in_(pair_ids), Hold.curator == curator))
