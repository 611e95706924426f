"""The feature's own table. (Migration 0039 made it, before the feature was a folder.)"""

from sqlalchemy import ForeignKey, Index, LargeBinary
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.feature_tables import OF_CAPTION, new_tables
from db.models import Pair, Run


class Tables(DeclarativeBase):
    metadata = new_tables()


TABLES = Tables.metadata


class WordRegions(Tables):
    """Where words of a pair's caption are in its picture under one run, packed; see `queries`."""

    __tablename__ = "word_regions"
    __table_args__ = (Index("ix_word_regions_run", "run_id", "pair_id"), {"info": OF_CAPTION})

    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id), primary_key=True)
    regions: Mapped[bytes] = mapped_column(LargeBinary)
