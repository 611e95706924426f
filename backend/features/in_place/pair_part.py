"""Beside a pair on Review: that its caption in the source is another than at the last import."""

from pathlib import Path

from sqlalchemy.orm import Session

from backend.datasets.cells import split_proof
from backend.datasets.reading.caption_fields import FIELD_COLUMN
from backend.features.in_place.applying import files_of, may_import
from backend.features.in_place.captions_in_text import CaptionChange
from backend.features.in_place.source_files import CaptionGroup
from backend.review.pair_parts import PairPart
from backend.settings import Settings
from db.queries.blind_review import reader_of
from db.queries.dataset_queries import DatasetRow
from db.queries.pair_queries import PairRow


def read(session: Session, pair: PairRow, dataset: DatasetRow, settings: Settings) -> str | None:
    """The name of the file that says something else; None if none does, or if the reader may not
    import it."""
    if dataset.imported_at is None:
        return None
    kind = str(pair.extra.get(FIELD_COLUMN, ""))
    own_id = pair.external_id.removesuffix(f"#{kind}")
    decided = pair.caption if pair.corrected_caption is None else pair.corrected_caption
    group = CaptionGroup(
        pair.source_file, pair.source_row, split_proof(pair.image_path)[0], (own_id,),
        (CaptionChange(pair.caption, decided, kind),),
    )  # fmt: skip
    file = files_of(dataset).says_other(group, dataset.imported_at.timestamp())
    # Asked last: of nearly all pairs no file was written.
    has_login = reader_of(session) is not None
    return file if file and may_import(dataset, settings, has_login) else None


PART = PairPart(
    "changed_file", "labels", read, Path(__file__).with_name("templates") / "changed_file.html",
    takes_dataset=True,
)  # fmt: skip
