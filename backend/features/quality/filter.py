"""The filter `picture` of queues: pairs whose picture has an issue."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from backend.features.quality.tables import PictureIssue
from backend.review.added_filters import AddedFilter
from db.models import Pair
from db.queries.queue_values import count_by

#: Issues of a picture, independent of its caption.
PICTURE_ISSUES = (
    "dark", "bright", "blurry", "odd_size", "odd_aspect", "low_information", "exact_duplicate",
    "near_duplicate",
)  # fmt: skip


def has_issue(issue: str) -> ColumnElement[bool]:
    """Condition: the picture of the pair has it."""
    return Pair.id.in_(select(PictureIssue.pair_id).where(PictureIssue.issue == issue))


def in_words(issue: str) -> str:
    """
    >>> in_words("odd_size")
    'odd size'
    """
    return issue.replace("_", " ")


def count_issues(session: Session, pair_ids: Sequence[int]) -> dict[str, int]:
    """How many of the pairs have each issue."""
    return count_by(session, PictureIssue.issue, pair_ids)


FILTER = AddedFilter(
    "picture", "Picture is", has_issue, PICTURE_ISSUES, words=in_words, counts=count_issues
)
