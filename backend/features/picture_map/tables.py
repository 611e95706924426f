"""The feature's own table. (Migration 0030 made it, before the feature was a folder.)"""

from sqlalchemy import Double, ForeignKey, Index
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.feature_tables import OF_PICTURE, new_tables
from db.models import Pair


class Tables(DeclarativeBase):
    metadata = new_tables()


TABLES = Tables.metadata


class MapPlace(Tables):
    """Position of a pair's picture on the map of its dataset, in the unit square."""

    __tablename__ = "map_places"
    __table_args__ = (
        # A region query is a range scan over x, filtered in memory.
        Index("ix_map_places_place", "x", "y", "pair_id"),
        {"info": OF_PICTURE},
    )

    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True)
    x: Mapped[float] = mapped_column(Double)
    y: Mapped[float] = mapped_column(Double)
