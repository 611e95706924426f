"""The feature's own tables. (Migration 0030 made them, before the feature was a folder.)"""

from sqlalchemy import Double, ForeignKey, Index, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.feature_tables import OF_PICTURE, new_tables
from db.models import Pair


class Tables(DeclarativeBase):
    metadata = new_tables()


TABLES = Tables.metadata


class PictureSignals(Tables):
    """Measurements of a pair's picture, with CleanVision's names. `pixels`: MD5 of the
    decoded pixels; `phash`: a perceptual hash of 64 bits; both in hexadecimal digits."""

    __tablename__ = "picture_signals"
    __table_args__ = {"info": OF_PICTURE}

    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True)
    brightness_perc_5: Mapped[float] = mapped_column(Double)
    brightness_perc_99: Mapped[float] = mapped_column(Double)
    aspect_ratio: Mapped[float] = mapped_column(Double)
    entropy: Mapped[float] = mapped_column(Double)
    blurriness: Mapped[float] = mapped_column(Double)
    blurriness_grayscale_std: Mapped[float] = mapped_column(Double)
    size: Mapped[float] = mapped_column(Double)
    pixels: Mapped[str] = mapped_column(String(32))
    phash: Mapped[str] = mapped_column(String(16))


class PictureIssue(Tables):
    """An issue of a pair's picture (dark, blurry, …), derived from the signals of all pictures."""

    __tablename__ = "picture_issues"
    __table_args__ = (Index("ix_picture_issues_issue", "issue", "pair_id"), {"info": OF_PICTURE})

    pair_id: Mapped[int] = mapped_column(ForeignKey(Pair.id), primary_key=True)
    issue: Mapped[str] = mapped_column(String(32), primary_key=True)
