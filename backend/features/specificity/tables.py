"""The feature's own table. (Migration 0030 made it, before the feature was a folder.)"""

from sqlalchemy import Double, ForeignKey, Index, Integer, LargeBinary
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.feature_tables import OF_CAPTION, OTHER_PAIRS, new_tables
from db.models import Pair, Run


class Tables(DeclarativeBase):
    metadata = new_tables()


TABLES = Tables.metadata


class Retrieval(Tables):
    """How well a caption retrieves its own picture among similar ones: what its specificity was
    computed from."""

    __tablename__ = "retrievals"
    __table_args__ = (Index("ix_retrievals_run", "run_id", "pair_id"), {"info": OF_CAPTION})

    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey(Run.id))
    #: Rank of the caption's own picture (1 is best), and the number of pictures.
    rank: Mapped[int] = mapped_column(Integer)
    of: Mapped[int] = mapped_column(Integer)
    #: Mean cosine of the own picture with the others: low means dissimilar.
    likeness: Mapped[float] = mapped_column(Double)
    #: Pairs whose pictures match the caption as well or better, best first, packed.
    better: Mapped[bytes] = mapped_column(LargeBinary, info=OTHER_PAIRS)
