"""The queue of favourites."""

from sqlalchemy import ColumnElement, select

from backend.errors import SettingsError
from backend.review.added_filters import AddedFilter
from db.models import Pair

from .tables import Favourite


def is_liked(value: str) -> ColumnElement[bool]:
    if value not in ("yes", "no"):
        raise SettingsError("liked takes yes or no.")
    liked = Pair.id.in_(select(Favourite.pair_id))
    return liked if value == "yes" else ~liked


FILTER = AddedFilter("liked", "Liked", is_liked, choices=("yes", "no"))
