"""The queue of favourites."""

from sqlalchemy import ColumnElement, select

from backend.review.added_filters import AddedFilter
from db.models import Pair

from .tables import Favourite


def is_liked(value: str) -> ColumnElement[bool]:
    liked = Pair.id.in_(select(Favourite.pair_id))
    return liked if value == "yes" else ~liked


FILTER = AddedFilter("liked", "Liked", is_liked, choices=("yes", "no"))
