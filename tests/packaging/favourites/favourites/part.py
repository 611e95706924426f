"""Beside a favourite: who likes it."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from backend.review.pair_parts import PairPart

from .tables import Favourite


class Liking(BaseModel):
    liked_by: str


def read(session: Session, pair: Any) -> Liking | None:
    favourite = session.get(Favourite, pair.id)
    return Liking(liked_by=favourite.liked_by) if favourite else None


PART = PairPart("liking", "picture", read, Path(__file__).with_name("part.html"), api=Liking)
