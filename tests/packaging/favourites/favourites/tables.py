"""The pairs that people like."""

from sqlalchemy import ForeignKey
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.feature_tables import new_tables
from db.models import Pair


class Tables(DeclarativeBase):
    metadata = new_tables()


class Favourite(Tables):
    __tablename__ = "favourites"

    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True)
    liked_by: Mapped[str]


TABLES = Tables.metadata
