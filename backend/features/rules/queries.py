"""What a rule has decided already."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import Verdict


def pairs_of_batch(session: Session, pair_ids: Sequence[int], author: str, batch: str) -> set[int]:
    """Those of the pairs of a page that have got the author's verdict of this batch."""
    query = select(Verdict.pair_id).where(Verdict.author == author, Verdict.batch == batch)
    return set(session.scalars(query.where(Verdict.pair_id.in_(pair_ids))))
