"""The complete verdict history of a dataset, as saved when the dataset is deleted."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.models import Pair, Verdict


@dataclass(frozen=True)
class Act:
    """A verdict, an undo or a redo, with its pair; see `db.models.Verdict`."""

    external_id: str
    image_path: str
    caption: str
    version: int
    decision: str | None
    corrected_caption: str | None
    author: str
    created_at: datetime
    undoes: int | None
    redoes: int | None
    batch: str | None
    note: str


def lock_dataset_pairs(session: Session, dataset_id: int) -> None:
    """Block verdicts on the dataset's pairs until this transaction ends. A no-op on SQLite, which
    has a single writer."""
    if session.get_bind().dialect.name == "postgresql":
        pairs = select(Pair.id).where(Pair.dataset_id == dataset_id).order_by(Pair.id)
        locked = pairs.with_for_update().subquery()
        session.execute(select(func.count()).select_from(locked))


def count_acts(session: Session, dataset_id: int) -> int:
    """The number of acts on the dataset's pairs."""
    query = select(func.count()).select_from(Verdict).join(Pair, Pair.id == Verdict.pair_id)
    return session.execute(query.where(Pair.dataset_id == dataset_id)).scalar_one()


def iterate_acts(session: Session, dataset_id: int, batch: int = 1000) -> Iterator[Act]:
    """All acts in chronological order, `batch` at a time in memory."""
    after = 0
    while rows := session.execute(
        select(
            Verdict.id,
            Pair.external_id,
            Pair.image_path,
            Pair.caption,
            Verdict.version,
            Verdict.decision,
            Verdict.corrected_caption,
            Verdict.author,
            Verdict.created_at,
            Verdict.undoes,
            Verdict.redoes,
            Verdict.batch,
            Verdict.note,
        )
        .join(Pair, Pair.id == Verdict.pair_id)
        .where(Pair.dataset_id == dataset_id, Verdict.id > after)
        .order_by(Verdict.id)
        .limit(batch)
    ).all():
        for row in rows:
            yield Act(**{name: v for name, v in row._asdict().items() if name != "id"})
        after = rows[-1].id
