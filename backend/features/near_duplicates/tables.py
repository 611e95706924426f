"""The feature's own table. (Migration 0030 made it, before the feature was a folder.)"""

from sqlalchemy import Double, ForeignKey, Index, Integer
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.feature_tables import OF_PICTURE, OTHER_PAIR, new_tables
from db.models import Pair


class Tables(DeclarativeBase):
    metadata = new_tables()


TABLES = Tables.metadata


class NearDuplicate(Tables):
    """Membership of a pair's picture in a group of near duplicates. `group_id`: the id of a pair of
    the group's first picture; `similarity`: the cosine with that picture."""

    __tablename__ = "near_duplicates"
    __table_args__ = (
        Index("ix_near_duplicates_group", "group_id", "pair_id"),
        {"info": OF_PICTURE},
    )

    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True)
    group_id: Mapped[int] = mapped_column(Integer, info=OTHER_PAIR)
    similarity: Mapped[float] = mapped_column(Double)
