"""The feature's own tables."""

from datetime import datetime

from sqlalchemy import ForeignKey, Integer, String, Text, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.column_types import UtcDateTime, now
from db.feature_tables import new_tables
from db.models import Dataset, Pair


class Tables(DeclarativeBase):
    metadata = new_tables()


TABLES = Tables.metadata


class Snapshot(Tables):
    """A named state of a dataset; no picture is copied."""

    __tablename__ = "snapshots"
    __table_args__ = (UniqueConstraint("dataset_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey(Dataset.id))
    name: Mapped[str] = mapped_column(String(255))
    author: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    pairs: Mapped[int] = mapped_column(Integer)


class SnapshotPair(Tables):
    """A pair as it was in a snapshot: what the source said, and the act in effect (0: none), which
    the history keeps. Pairs that were hidden then have no row."""

    __tablename__ = "snapshot_pairs"

    snapshot_id: Mapped[int] = mapped_column(ForeignKey(Snapshot.id), primary_key=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True, index=True)
    caption: Mapped[str] = mapped_column(Text)
    split: Mapped[str | None] = mapped_column(String(255))
    standing_version: Mapped[int] = mapped_column(Integer)
