"""The issues of a pair's picture, as labels above its caption and in the API."""

from pathlib import Path

from pydantic import RootModel
from sqlalchemy.orm import Session

from backend.features.quality.queries import issues_of
from backend.review.pair_parts import PairPart
from db.queries.pair_queries import PairRow


class PictureIssues(RootModel[tuple[str, ...]]):
    """The issues of the picture; none if it has none or was not measured."""


def read(session: Session, pair: PairRow) -> tuple[str, ...]:
    return issues_of(session, [pair.id]).get(pair.id, ())


PART = PairPart(
    "picture_issues",
    "labels",
    read,
    Path(__file__).with_name("templates") / "picture_issues.html",
    api=PictureIssues,
)
