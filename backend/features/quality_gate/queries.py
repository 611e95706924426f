"""What was decided of the pairs that an export would write."""

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from db.models import Pair
from db.queries.blind_review import verdict_seen
from db.queries.statements import in_dataset


def pairs_by_decision(
    session: Session, dataset_id: int, split: str | None = None
) -> dict[str | None, int]:
    """Numbers of pairs by their decision, None: undecided; `split`: of those in it."""
    decision = verdict_seen(session, dataset_id).decision
    in_split = true() if split is None else Pair.split == split
    query = select(decision, func.count()).where(in_dataset(dataset_id), in_split)
    return {name: int(number) for name, number in session.execute(query.group_by(decision))}
