"""The tables. Pages of a book that is only ever added to, beside an index of where it stands.

* `verdicts` is the book: append-only (a trigger refuses changes), one row an act. Undo and redo
  are acts like others. `pairs` carries the current state beside the caption, so that the queue of
  a million pairs is one index scan.
* `runs` says what produced which numbers; `trajectories` and `detections` are the numbers, packed
  (see `blobs.py`): a row a pair, not a row a step.

Deleting a dataset deletes what belongs to it in a fixed order (`queries/datasets.py`); there is no
cascade that could reach further than meant.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    false,
    text,
    true,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from db.types import UtcDateTime, now

#: What a curator can say. NULL in a decision column: nothing (yet, or any more).
DECISIONS = ("correct", "correction", "drop", "abstract", "unsure")
#: What an account may do: give verdicts, or also settle what others disagree about.
ROLES = ("curator", "adjudicator")
#: Decisions that say the caption was wrong.
ERROR_DECISIONS = ("correction", "drop")

_DECISION_IS_KNOWN = "decision IN ('correct', 'correction', 'drop', 'abstract', 'unsure')"
#: Three-valued logic does the rest: with decision NULL the comparison is NULL, which passes.
_CORRECTION_HAS_CAPTION = "(decision = 'correction') = (corrected_caption IS NOT NULL)"


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Dataset(Base):
    """Where pairs come from. `root`: the directory that all image paths are relative to."""

    __tablename__ = "datasets"
    # Ids of a deleted dataset are never given again: a page left open must not hit another one.
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)
    source: Mapped[str] = mapped_column(Text)
    root: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text, server_default="")
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    #: This share of the pairs is handed to so many people each, so that agreement can be told.
    overlap_share: Mapped[float] = mapped_column(Double, server_default=text("0"))
    overlap_people: Mapped[int] = mapped_column(Integer, server_default=text("2"))


class Pair(Base):
    """An image and its caption, with the newest scores and the verdict that holds."""

    __tablename__ = "pairs"

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"))
    external_id: Mapped[str] = mapped_column(String(600))
    image_path: Mapped[str] = mapped_column(Text)
    caption: Mapped[str] = mapped_column(Text)
    split: Mapped[str | None] = mapped_column(String(255))
    source_file: Mapped[str] = mapped_column(Text, server_default="")
    source_row: Mapped[int | None] = mapped_column(Integer)
    extra: Mapped[dict[str, Any]] = mapped_column(JSON, server_default="{}")
    # Newest numbers, each NULL until known.
    words_read: Mapped[int | None] = mapped_column(Integer)
    s_0: Mapped[float | None] = mapped_column(Double)
    gain: Mapped[float | None] = mapped_column(Double)
    p_error: Mapped[float | None] = mapped_column(Double)
    icc: Mapped[float | None] = mapped_column(Double)
    truncated: Mapped[bool] = mapped_column(Boolean, server_default=false())
    #: A number in [0, 1) drawn once: pairs in its order are a random sample, however far one reads.
    lot: Mapped[float] = mapped_column(Double, server_default=text("0"))
    #: The most suspect word in small letters, and what kind of word it is ("colour", "count", …).
    suspect_word: Mapped[str | None] = mapped_column(String(64))
    suspect_kind: Mapped[str | None] = mapped_column(String(32))
    #: How far the scorers that have scored this pair differ about its rank in the dataset, 0 to 1.
    disagreement: Mapped[float | None] = mapped_column(Double)
    # The verdict that holds. `verdict_version` counts acts; `standing_version` names the act whose
    # decision holds (0: undecided), which after an undo is an earlier one.
    verdict_version: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    standing_version: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    decision: Mapped[str | None] = mapped_column(String(16))
    corrected_caption: Mapped[str | None] = mapped_column(Text)
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    decided_by: Mapped[str | None] = mapped_column(String(255))

    __table_args__ = (
        UniqueConstraint("dataset_id", "external_id"),
        CheckConstraint(_DECISION_IS_KNOWN, name="decision_is_known"),
        CheckConstraint(_CORRECTION_HAS_CAPTION, name="correction_has_caption"),
        {"sqlite_autoincrement": True},
    )


# One index an order of the queue: (dataset, value, id) makes every page a short range scan,
# whichever way it runs. The two most used filters have partial indexes of their own.
Index("ix_pairs_position", Pair.dataset_id, Pair.id)
Index("ix_pairs_p_error", Pair.dataset_id, Pair.p_error.desc(), Pair.id)
Index("ix_pairs_gain", Pair.dataset_id, Pair.gain.desc(), Pair.id)
Index("ix_pairs_s_0", Pair.dataset_id, Pair.s_0, Pair.id)
Index("ix_pairs_icc", Pair.dataset_id, Pair.icc, Pair.id)
Index("ix_pairs_lot", Pair.dataset_id, Pair.lot, Pair.id)
Index("ix_pairs_disagreement", Pair.dataset_id, Pair.disagreement.desc(), Pair.id)
Index("ix_pairs_suspect_word", Pair.dataset_id, Pair.suspect_word, Pair.p_error.desc(), Pair.id)
Index("ix_pairs_suspect_kind", Pair.dataset_id, Pair.suspect_kind, Pair.p_error.desc(), Pair.id)
Index(
    "ix_pairs_caption_trigrams",
    Pair.caption,
    postgresql_using="gin",
    postgresql_ops={"caption": "gin_trgm_ops"},
).ddl_if(dialect="postgresql")  # SQLite's own: `caption_search.py`
Index("ix_pairs_split", Pair.dataset_id, Pair.split, Pair.p_error.desc(), Pair.id)
Index(
    "ix_pairs_unreviewed",
    Pair.dataset_id,
    Pair.p_error.desc(),
    Pair.id,
    sqlite_where=Pair.decision.is_(None),
    postgresql_where=Pair.decision.is_(None),
)
Index(
    "ix_pairs_decided",
    Pair.dataset_id,
    Pair.decision,
    Pair.p_error.desc(),
    Pair.id,
    sqlite_where=Pair.decision.is_not(None),
    postgresql_where=Pair.decision.is_not(None),
)


class ImportProblem(Base):
    """A row that could not go in, or an image that could not be read: where, and what to do."""

    __tablename__ = "import_problems"

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"), index=True)
    file: Mapped[str] = mapped_column(Text)
    row: Mapped[int | None] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(64))
    message: Mapped[str] = mapped_column(Text)
    external_id: Mapped[str | None] = mapped_column(Text)


class Run(Base):
    """What produced which numbers."""

    __tablename__ = "runs"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    scorer_kind: Mapped[str] = mapped_column(String(64))
    model: Mapped[str] = mapped_column(Text)
    revision: Mapped[str] = mapped_column(String(255))
    explorer: Mapped[str] = mapped_column(String(64))
    parameters: Mapped[dict[str, Any]] = mapped_column(JSON)
    code_version: Mapped[str] = mapped_column(String(64))
    started_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    finished_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    status: Mapped[str] = mapped_column(String(16))

    __table_args__ = (
        CheckConstraint("status IN ('running', 'done', 'failed')", name="status_is_known"),
    )


class Trajectory(Base):
    """One pair's trajectory under one run, packed; see `queries/trajectories.py`."""

    __tablename__ = "trajectories"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    scores: Mapped[bytes] = mapped_column(LargeBinary)
    similarities: Mapped[bytes] = mapped_column(LargeBinary)
    removed: Mapped[bytes] = mapped_column(LargeBinary)
    first_step_scores: Mapped[bytes] = mapped_column(LargeBinary)
    truncated: Mapped[bool] = mapped_column(Boolean, server_default=false())
    #: x_1 … x_T where they do not follow from `removed`; see `db/blobs.py`.
    captions: Mapped[bytes | None] = mapped_column(LargeBinary)
    #: Another score of the same model along the same captions, where it has one.
    second_scores: Mapped[bytes | None] = mapped_column(LargeBinary)
    second_first_step_scores: Mapped[bytes | None] = mapped_column(LargeBinary)


Index("ix_trajectories_run", Trajectory.run_id, Trajectory.pair_id)


class Classifier(Base):
    """A trained classifier in its library's own safe format. At most one a dataset is active."""

    __tablename__ = "classifiers"
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"), index=True)
    name: Mapped[str] = mapped_column(String(255))
    kind: Mapped[str] = mapped_column(String(64))
    basis: Mapped[str] = mapped_column(String(255))
    payload: Mapped[bytes] = mapped_column(LargeBinary)
    report: Mapped[dict[str, Any]] = mapped_column(JSON)
    active: Mapped[bool] = mapped_column(Boolean, server_default=false())
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


Index(
    "uq_classifiers_active",
    Classifier.dataset_id,
    unique=True,
    sqlite_where=Classifier.active,
    postgresql_where=Classifier.active,
)


class Detection(Base):
    """What detection says about one pair. `suspects`: packed (start, end, score)."""

    __tablename__ = "detections"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id"))
    classifier_id: Mapped[int | None] = mapped_column(ForeignKey("classifiers.id"))
    p_error: Mapped[float | None] = mapped_column(Double)
    suspects: Mapped[bytes] = mapped_column(LargeBinary)


class Suggestion(Base):
    """A corrected caption on offer. `caption_digest` stands in for the caption in the unique
    index, because PostgreSQL cannot index texts of more than about 2,700 bytes."""

    __tablename__ = "suggestions"
    __table_args__ = (UniqueConstraint("pair_id", "proposer", "caption_digest"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"))
    proposer: Mapped[str] = mapped_column(String(64))
    caption: Mapped[str] = mapped_column(Text)
    caption_digest: Mapped[bytes] = mapped_column(LargeBinary(16))
    s_before: Mapped[float] = mapped_column(Double)
    s_after: Mapped[float] = mapped_column(Double)
    p_before: Mapped[float | None] = mapped_column(Double)
    p_after: Mapped[float | None] = mapped_column(Double)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id"))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    similarity: Mapped[float | None] = mapped_column(Double)
    #: Model, way of asking, prompt's version, the model's steps; None of those made without one.
    provenance: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class CorrectionAttempt(Base):
    """That a model was asked to correct a pair, and what came of it: nobody is asked twice."""

    __tablename__ = "correction_attempts"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    proposer: Mapped[str] = mapped_column(String(64), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    outcome: Mapped[str] = mapped_column(String(16))
    told: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class Verdict(Base):
    """One act on one pair: a decision, an undo or a redo. Never changed.

    Acts of a pair are numbered 1, 2, …: `version`. `replaces` is the version that stood before,
    `stands` the version whose decision holds after it (0: undecided). An undo names in `undoes`
    the version it takes back, a redo in `redoes` the version it gives again; both carry the
    decision that holds after them.
    """

    __tablename__ = "verdicts"

    id: Mapped[int] = mapped_column(primary_key=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"))
    version: Mapped[int] = mapped_column(Integer)
    decision: Mapped[str | None] = mapped_column(String(16))
    corrected_caption: Mapped[str | None] = mapped_column(Text)
    suggestion_id: Mapped[int | None] = mapped_column(ForeignKey("suggestions.id"), index=True)
    author: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    replaces: Mapped[int] = mapped_column(Integer)
    stands: Mapped[int] = mapped_column(Integer)
    undoes: Mapped[int | None] = mapped_column(Integer)
    redoes: Mapped[int | None] = mapped_column(Integer)
    #: Acts that were given, undone or redone together.
    batch: Mapped[str | None] = mapped_column(String(32))

    __table_args__ = (
        UniqueConstraint("pair_id", "version"),
        CheckConstraint(_DECISION_IS_KNOWN, name="decision_is_known"),
        CheckConstraint(_CORRECTION_HAS_CAPTION, name="correction_has_caption"),
        {"sqlite_autoincrement": True},
    )


Index("ix_verdicts_author", Verdict.author, Verdict.id)


class Opinion(Base):
    """What one curator says about one pair, as their own acts left it; what holds is in `pairs`.

    It follows from `verdicts` and is written with them: agreement is told from it, and whose turn
    a pair is. `settles`: said by an adjudicator to end a disagreement.
    """

    __tablename__ = "opinions"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    author: Mapped[str] = mapped_column(String(255), primary_key=True)
    decision: Mapped[str] = mapped_column(String(16))
    corrected_caption: Mapped[str | None] = mapped_column(Text)
    settles: Mapped[bool] = mapped_column(Boolean, server_default=false())
    decided_at: Mapped[datetime] = mapped_column(UtcDateTime)

    __table_args__ = (
        CheckConstraint(_DECISION_IS_KNOWN, name="decision_is_known"),
        CheckConstraint(_CORRECTION_HAS_CAPTION, name="correction_has_caption"),
    )


class Claim(Base):
    """A pair that lies on a curator's screen, so that nobody else is handed it until it expires."""

    __tablename__ = "claims"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    curator: Mapped[str] = mapped_column(String(255), index=True)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class Curator(Base):
    """An account. `password_hash` is argon2's own encoded form; an inactive account keeps its
    verdicts and cannot log in."""

    __tablename__ = "curators"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)
    password_hash: Mapped[str] = mapped_column(String(255))
    role: Mapped[str] = mapped_column(String(16))
    active: Mapped[bool] = mapped_column(Boolean, server_default=true())
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)

    __table_args__ = (CheckConstraint("role IN ('curator', 'adjudicator')", name="role_is_known"),)


class Login(Base):
    """A browser that has logged in. Only the digest of its token is kept."""

    __tablename__ = "logins"

    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    curator_id: Mapped[int] = mapped_column(ForeignKey("curators.id"), index=True)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class WordMark(Base):
    """A word of a caption (characters start:end) that a curator calls wrong."""

    __tablename__ = "word_marks"
    __table_args__ = (UniqueConstraint("pair_id", "author", "start", "end"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"))
    start: Mapped[int] = mapped_column(Integer)
    end: Mapped[int] = mapped_column(Integer)
    author: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class View(Base):
    """A queue with a name: the fields of its filter, as the page sets them."""

    __tablename__ = "views"
    __table_args__ = (UniqueConstraint("dataset_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"))
    name: Mapped[str] = mapped_column(String(255))
    fields: Mapped[dict[str, Any]] = mapped_column(JSON)
    author: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class Job(Base):
    """Long work in the background. `owner` names the process that does it."""

    __tablename__ = "jobs"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    status: Mapped[str] = mapped_column(String(16), index=True)
    done: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    total: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    message: Mapped[str] = mapped_column(Text, server_default="")
    result: Mapped[dict[str, Any]] = mapped_column(JSON, server_default="{}")
    owner: Mapped[str] = mapped_column(String(255), server_default="")
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    updated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)

    __table_args__ = (
        CheckConstraint(
            "status IN ('queued', 'running', 'done', 'failed', 'cancelled')",
            name="status_is_known",
        ),
    )


class Setting(Base):
    """A value by name, for what belongs to the database and not to a machine."""

    __tablename__ = "settings"

    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)
