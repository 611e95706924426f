"""Claims: a pair on somebody's screen is handed to nobody else, until the claim expires."""

from datetime import timedelta

from sqlalchemy import delete, or_
from sqlalchemy.orm import Session

from db.models import Claim
from db.queries import queue
from db.queries.queue import QueueFilter
from db.queries.statements import insert_for
from db.types import now

#: A curator who has gone for coffee loses the pair to others, but none of their verdicts.
CLAIM_HOLDS = timedelta(minutes=10)


def claim(session: Session, pair_id: int, curator: str) -> bool:
    """Take the pair, or keep it; False if it lies on somebody else's screen."""
    moment = now()
    statement = insert_for(session, Claim).values(
        pair_id=pair_id, curator=curator, expires_at=moment + CLAIM_HOLDS
    )
    done = session.execute(
        statement.on_conflict_do_update(
            index_elements=[Claim.pair_id],
            set_={
                "curator": statement.excluded.curator,
                "expires_at": statement.excluded.expires_at,
            },
            where=or_(Claim.curator == curator, Claim.expires_at <= moment),
        ).returning(Claim.pair_id)
    )
    return done.one_or_none() is not None


def take_first(session: Session, filter: QueueFilter, curator: str) -> int | None:
    """Claim the first pair of the queue that lies on nobody else's screen, in one transaction:
    of many who ask at once each gets another. `filter` is the queue as handed to this curator."""
    while (found := queue.first_pair(session, filter)) is not None:
        if claim(session, found, curator):
            return found
    return None


def release(session: Session, pair_id: int, curator: str) -> None:
    """Give the pair back, if it is this curator's."""
    session.execute(delete(Claim).where(Claim.pair_id == pair_id, Claim.curator == curator))
