"""Acts of pages that are done once, however often their request arrives."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from db.column_types import now
from db.models import PageRequest
from db.queries.statements import insert_for

Outcome = TypeVar("Outcome")


def once(
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
