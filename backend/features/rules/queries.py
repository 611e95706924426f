"""What is decided of the pairs of a page, by the rule already and by others."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import Pair, Verdict


def pairs_of_batch(session: Session, pair_ids: Sequence[int], author: str, batch: str) -> set[int]:
    """Those of the pairs of a page that have got the author's verdict of this batch."""
    query = select(Verdict.pair_id).where(Verdict.author == author, Verdict.batch == batch)
    return set(session.scalars(query.where(Verdict.pair_id.in_(pair_ids))))


def decisions_of(session: Session, pair_ids: Sequence[int]) -> dict[int, str]:
    """The decisions in effect on those of the pairs of a page that have one, whoever asks."""
    query = select(Pair.id, Pair.decision).where(Pair.decision.is_not(None), Pair.id.in_(pair_ids))
    return {pair_id: str(decision) for pair_id, decision in session.execute(query).tuples()}
