"""Claims: a pair on a curator's screen, or preloaded for it, is not given to others until its claim
expires."""

from collections.abc import Collection, Sequence
from datetime import timedelta

from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import Claim
from db.queries import pair_queue
from db.queries.pair_queue import QueueFilter
from db.queries.statements import chunks, insert_for

#: A curator who takes a longer break may lose the pair to others, but none of their verdicts.
CLAIM_HOLDS = timedelta(minutes=10)


def claim(session: Session, pair_id: int, curator: str) -> bool:
    """Claim the pair or renew the claim; False if another curator has claimed it."""
    return bool(claim_each(session, [pair_id], curator))


def claim_each(session: Session, pair_ids: Sequence[int], curator: str) -> list[int]:
    """Claim several pairs or renew their claims; returns those that no other curator has claimed,
    in the order given."""
    if not pair_ids:
        return []
    moment = now()
    # In order of id, so that two curators cannot deadlock.
    statement = insert_for(session, Claim).values(
        [
            {"pair_id": pair_id, "curator": curator, "expires_at": moment + CLAIM_HOLDS}
            for pair_id in sorted(set(pair_ids))
        ]
    )
    done = session.scalars(
        statement.on_conflict_do_update(
            index_elements=[Claim.pair_id],
            set_={
                "curator": statement.excluded.curator,
                "expires_at": statement.excluded.expires_at,
            },
            where=or_(Claim.curator == curator, Claim.expires_at <= moment),
        ).returning(Claim.pair_id)
    )
    claimed = set(done)
    return [pair_id for pair_id in pair_ids if pair_id in claimed]


def claimed_by_others(session: Session, pair_ids: Sequence[int], curator: str) -> set[int]:
    """Those of the pairs that others have on their screens; `curator` may be nobody's name."""
    others = select(Claim.pair_id).where(Claim.curator != curator, Claim.expires_at > now())
    return {
        pair_id
        for part in chunks(pair_ids, 1000)
        for pair_id in session.scalars(others.where(Claim.pair_id.in_(part)))
    }


def take_first(session: Session, filter: QueueFilter, curator: str) -> int | None:
    """Claim the first unclaimed pair of the queue, in one transaction: concurrent requests get
    different pairs. `filter` is the queue as seen by this curator."""
    while (pair_id := pair_queue.first_pair(session, filter)) is not None:
        if claim(session, pair_id, curator):
            return pair_id
    return None


def release(session: Session, pair_ids: Collection[int], curator: str) -> None:
    """Release those of the pairs that this curator has claimed."""
    if pair_ids:
        session.execute(delete(Claim).where(Claim.pair_id.in_(pair_ids), Claim.curator == curator))
