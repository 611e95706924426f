"""The captions of one picture: COCO and Flickr30k have five of each."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from db.models import PICTURE, PICTURE_CHARACTERS, Pair
from db.queries.blind_review import pair_columns

#: A picture with more captions than this shows the first ones.
MOST = 50


@dataclass(frozen=True)
class CaptionRow:
    """A caption of a picture: its probability of error, and its verdict as the reader sees it."""

    pair_id: int
    caption: str
    corrected_caption: str | None
    p_error: float | None
    decision: str | None
    enriches: bool


def captions_of_picture(
    session: Session, dataset_id: int, image_path: str
) -> tuple[CaptionRow, ...]:
    """The captions of the picture with this address, in import order."""
    columns = pair_columns(session, CaptionRow.__dataclass_fields__, dataset_id)
    rows = session.execute(
        select(*columns)
        .where(
            Pair.dataset_id == dataset_id,
            Pair.hidden.is_(False),
            PICTURE.in_([image_path[:PICTURE_CHARACTERS]]),
            Pair.image_path == image_path,
        )
        .order_by(Pair.id)
        .limit(MOST)
    )
    return tuple(CaptionRow(**row._asdict()) for row in rows)
