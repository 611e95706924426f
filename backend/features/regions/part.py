"""Over the picture on Review: the button that fills the view with the suspect word's part of it."""

from pathlib import Path

from sqlalchemy.orm import Session

from backend.review.pair_parts import PairPart
from db.queries.pair_queries import PairRow


def read(session: Session, pair: PairRow) -> bool:
    """Every pair has the button; regions are looked for when they are wanted, in the browser."""
    return True


_FOLDER = Path(__file__).parent
PART = PairPart(
    "zoom_to_word", "over", read, _FOLDER / "templates" / "zoom_to_word.html",
    styles=_FOLDER / "regions.css",
)  # fmt: skip
