"""The captions of a source by row: those that stay may share a list with one that changes."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from backend.datasets.reading.caption_fields import FIELD_COLUMN
from db.models import Pair
from db.queries.statements import in_dataset


class CaptionRow(NamedTuple):
    """A pair as it was imported: its row in a file, and the address of its picture."""

    pair_id: int
    external_id: str
    file: str
    number: int | None
    image: str
    caption: str
    kind: str


def captions_of_rows(session: Session, dataset_id: int) -> Iterator[CaptionRow]:
    """The pairs of the source in import order. Streamed."""
    columns = (
        Pair.id, Pair.external_id, Pair.source_file, Pair.source_row, Pair.image_path, Pair.caption,
        func.coalesce(Pair.extra[FIELD_COLUMN].as_string(), ""),
    )  # fmt: skip
    query = (
        select(*columns)
        .where(in_dataset(dataset_id))
        .order_by(Pair.id)
        .execution_options(yield_per=10_000)
    )
    for row in session.execute(query):
        yield CaptionRow(*row)
