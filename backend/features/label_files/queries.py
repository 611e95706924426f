"""Which labels of a file are in effect."""

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from db.authors import label_author, label_prefix
from db.models import Pair, Verdict
from db.queries.undo_queries import is_standing


def newest_label(session: Session, dataset_id: int, file: str) -> tuple[str, str] | None:
    """The author and the batch of the newest label of this file that is in effect."""
    is_of_file = or_(
        Verdict.author == label_author(file),
        Verdict.author.startswith(label_prefix(file), autoescape=True),
    )
    newest = (
        select(Verdict.author, Verdict.batch)
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(is_of_file, *is_standing(dataset_id))
        .order_by(Verdict.id.desc())
        .limit(1)
    )
    row = session.execute(newest).one_or_none()
    return None if row is None else (row.author, row.batch)
