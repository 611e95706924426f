"""The captions that are looked at."""

from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.models import Pair
from db.queries.blind_review import verdict_seen
from db.queries.statements import in_dataset


class CaptionInUse(NamedTuple):
    """A pair with the caption that it has now: corrected or edited, or its own."""

    id: int
    external_id: str
    image_path: str
    caption: str


def captions_in_use(
    session: Session, dataset_id: int, after_id: int = 0, limit: int = 1000
) -> list[CaptionInUse]:
    """The next pairs after `after_id`, in import order; empty at the end."""
    correction = verdict_seen(session, dataset_id).corrected_caption
    caption = func.coalesce(correction, Pair.caption)
    query = select(Pair.id, Pair.external_id, Pair.image_path, caption)
    query = query.where(in_dataset(dataset_id), Pair.id > after_id)
    rows = session.execute(query.order_by(Pair.id).limit(limit))
    return [CaptionInUse(*row) for row in rows]
