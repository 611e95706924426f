"""Acts of pages that are done once, however often their request arrives."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import PageRequest
from db.queries.statements import insert_for

Outcome = TypeVar("Outcome")
#: A page keeps what it could not send as long as its tab is open. One that was open for longer than
#: this may have an act done again.
KEPT = timedelta(days=30)


def run_idempotent(
    session: Session, author: str, request_id: str | None, act: Callable[[], Outcome]
) -> Outcome:
    """What `act` returns, which JSON can hold; or, if a request of this author with this id has
    been here before, what it returned then. Without an id, it acts each time.

    The request is stored in the transaction of the act, so that both are there or neither; a second
    one waits for the first to commit. Needs a `writing()` session.
    """
    if request_id is None:
        return act()
    key = (PageRequest.id == request_id, PageRequest.author == author)
    new = insert_for(session, PageRequest).values(id=request_id, author=author, created_at=now())
    insert = new.on_conflict_do_nothing(index_elements=["id", "author"])
    if session.execute(insert.returning(PageRequest.id)).first() is None:
        return session.execute(select(PageRequest.outcome).where(*key)).scalar_one()
    outcome = act()
    session.execute(update(PageRequest).where(*key).values(outcome=outcome))
    return outcome


def forget_old(session: Session, moment: datetime) -> int:
    """Delete the requests that are older than `KEPT` at `moment`; returns how many."""
    old = delete(PageRequest).where(PageRequest.created_at < moment - KEPT)
    return len(session.execute(old.returning(PageRequest.id)).all())
