"""The tables: an append-only history, and the current state derived from it.

* `verdicts` is the history: append-only (a trigger refuses changes), one row per act. Undo and
  redo are acts like others. `pairs` holds the current state next to the caption, so that the queue
  of a million pairs is one index scan.
* `runs` records what produced which numbers; `trajectories` and `detections` hold the numbers,
  packed (see `blobs.py`): one row per pair, not one per step.

Deleting a dataset deletes what belongs to it in a fixed order; there is no cascade that could
delete more than intended.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    CheckConstraint,
    ColumnElement,
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
    func,
    literal_column,
    text,
    true,
)
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, Mapped, mapped_column

from db.column_types import UtcDateTime, now
from db.decisions import DECISIONS

#: Roles of an account: give verdicts, or also settle disagreements.
ROLES = ("curator", "adjudicator")
#: Kinds of suggestions: correct a wrong caption, or enrich a correct one.
SUGGESTIONS = ("correction", "boost")


def decision_check(decisions: Sequence[str]) -> str:
    """The condition that a decision is one of these.

    >>> decision_check(("correct", "drop"))
    "decision IN ('correct', 'drop')"
    """
    return "decision IN ({})".format(", ".join(f"'{name}'" for name in decisions))


_DECISION_IS_KNOWN = decision_check(DECISIONS)
#: If the decision is NULL, so is the comparison, and a check that is NULL passes.
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
    """A source of pairs. `root`: the directory that all image paths are relative to."""

    __tablename__ = "datasets"
    # Ids of deleted datasets are never reused: a page left open must not hit another dataset.
    __table_args__ = {"sqlite_autoincrement": True}

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(255), unique=True)
    source: Mapped[str] = mapped_column(Text)
    root: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text, server_default="")
    #: Guidelines for curators, in Markdown as typed.
    guidelines: Mapped[str] = mapped_column(Text, server_default="")
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)
    #: This share of the pairs is given to several people each, so that agreement can be measured.
    overlap_share: Mapped[float] = mapped_column(Double, server_default=text("0"))
    overlap_people: Mapped[int] = mapped_column(Integer, server_default=text("2"))
    #: The models and the explorer that it was last scored with, by the names of the settings.
    models: Mapped[dict[str, Any]] = mapped_column(JSON, server_default="{}")
    #: Number of rankings that have replaced the first; even or odd, it selects the column of the
    #: probabilities in use. See `queries/ranking_queries.py`.
    ranking: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    #: Token of the job that is writing the next ranking; None: no job is.
    ranking_claim: Mapped[str | None] = mapped_column(String(32))
    #: SHA-256 of the rows of the last import that ended; "": an earlier version imported it.
    source_digest: Mapped[str] = mapped_column(String(64), server_default="")
    #: When the last import that ended began, and the options by which it read the source, but those
    #: at their defaults; None: an earlier version imported it.
    imported_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    read_options: Mapped[dict[str, Any]] = mapped_column(JSON, server_default="{}")


class Pair(Base):
    """An image and its caption, with the newest scores and the current verdict."""

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
    #: The probability of error in two columns, of which the dataset's `ranking` selects one: the
    #: next ranking is written to the other. Queries take theirs from `queries/ranking_queries.py`.
    p_error_even: Mapped[float | None] = mapped_column(Double)
    p_error_odd: Mapped[float | None] = mapped_column(Double)
    icc: Mapped[float | None] = mapped_column(Double)
    truncated: Mapped[bool] = mapped_column(Boolean, server_default=false())
    #: Claims of the caption (see `Claim`), and how many of several are vague; None: not known.
    claims: Mapped[int | None] = mapped_column(Integer)
    vague_claims: Mapped[int | None] = mapped_column(Integer)
    #: A fixed random number in [0, 1): any prefix of the pairs in its order is a random sample.
    random_key: Mapped[float] = mapped_column(Double, server_default=text("0"))
    #: The most suspect word in lower case, and its kind ("colour", "count", …).
    suspect_word: Mapped[str | None] = mapped_column(String(64))
    suspect_kind: Mapped[str | None] = mapped_column(String(32))
    #: Disagreement between scorers about this pair's rank in the dataset, 0 to 1.
    disagreement: Mapped[float | None] = mapped_column(Double)
    #: How strongly the image supports the caption's phrases: mean and minimum.
    support: Mapped[float | None] = mapped_column(Double)
    weakest: Mapped[float | None] = mapped_column(Double)
    #: Log-probability, at most 0, that the caption finds its picture among similar ones; low is
    #: generic.
    specificity: Mapped[float | None] = mapped_column(Double)
    # The current verdict. `verdict_version` counts acts; `standing_version` is the act whose
    # decision is in effect (0: undecided), which after an undo is an earlier one.
    verdict_version: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    standing_version: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    decision: Mapped[str | None] = mapped_column(String(16))
    corrected_caption: Mapped[str | None] = mapped_column(Text)
    decided_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    decided_by: Mapped[str | None] = mapped_column(String(255))
    #: The new caption says more, the old one was correct: see `judgement` in `db/decisions.py`.
    enriches: Mapped[bool] = mapped_column(Boolean, server_default=false())
    #: The note of the current verdict; "": none.
    note: Mapped[str] = mapped_column(Text, server_default="")
    #: How the pair had come to be shown to whoever decided it; see `SAMPLINGS` in `decisions.py`.
    sampling: Mapped[str] = mapped_column(String(16), server_default="")
    #: What people say about single claims of the caption: see `queries/claim_labels.py`.
    claim_labels: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    #: Gone from the source, and therefore in no queue and no export; nothing of it is deleted.
    hidden: Mapped[bool] = mapped_column(Boolean, server_default=false())

    __table_args__ = (
        UniqueConstraint("dataset_id", "external_id"),
        CheckConstraint(_DECISION_IS_KNOWN, name="decision_is_known"),
        CheckConstraint(_CORRECTION_HAS_CAPTION, name="correction_has_caption"),
        {"sqlite_autoincrement": True},
    )


def _only_where(condition: Any) -> dict[str, Any]:
    """The options of an index that holds only some rows."""
    return {"sqlite_where": condition, "postgresql_where": condition}


def _start(column: InstrumentedAttribute[str], characters: int) -> ColumnElement[str]:
    """The beginning of a text: PostgreSQL limits the rows of an index to 2,700 bytes. Its numbers
    are written out, as an index is used only for exactly its own expression."""
    return func.substr(column, literal_column("1"), literal_column(str(characters)))


PICTURE_CHARACTERS = 400
#: The picture of a pair.
PICTURE = _start(Pair.image_path, PICTURE_CHARACTERS)
Index("ix_pairs_picture", Pair.dataset_id, PICTURE, Pair.id)
#: By what captions are sorted, and pairs without one found.
CAPTION_START = _start(Pair.caption, 80)
Index("ix_pairs_caption", Pair.dataset_id, CAPTION_START, Pair.id)
# One index per order of the queue: (dataset, value, id) makes every page a short range scan,
# in either direction. The two most used filters have partial indexes of their own.
Index("ix_pairs_position", Pair.dataset_id, Pair.id)
Index("ix_pairs_gain", Pair.dataset_id, Pair.gain.desc(), Pair.id)
Index("ix_pairs_s_0", Pair.dataset_id, Pair.s_0, Pair.id)
Index("ix_pairs_icc", Pair.dataset_id, Pair.icc, Pair.id)
Index("ix_pairs_by_split", Pair.dataset_id, Pair.split, Pair.id)
Index("ix_pairs_random_key", Pair.dataset_id, Pair.random_key, Pair.id)
Index("ix_pairs_disagreement", Pair.dataset_id, Pair.disagreement.desc(), Pair.id)
Index("ix_pairs_support", Pair.dataset_id, Pair.support, Pair.id)
Index("ix_pairs_weakest", Pair.dataset_id, Pair.weakest, Pair.id)
Index("ix_pairs_specificity", Pair.dataset_id, Pair.specificity, Pair.id)
Index(
    "ix_pairs_caption_trigrams",
    Pair.caption,
    postgresql_using="gin",
    postgresql_ops={"caption": "gin_trgm_ops"},
).ddl_if(dialect="postgresql")  # SQLite's own: `caption_search.py`
Index("ix_pairs_noted", Pair.dataset_id, Pair.id, **_only_where(Pair.note != ""))
_LABELLED = _only_where(Pair.claim_labels.is_not(None))
Index("ix_pairs_claim_labels", Pair.dataset_id, Pair.id, **_LABELLED)
Index("ix_pairs_hidden", Pair.dataset_id, Pair.id, **_only_where(Pair.hidden))


def _index_probabilities(p_error: InstrumentedAttribute[float | None], suffix: str) -> None:
    """The orders by probability of error: each for both columns, so that a ranking is complete at
    the moment when it takes effect."""
    dataset, ranking = Pair.dataset_id, (p_error.desc(), Pair.id)
    where_undecided = _only_where(Pair.decision.is_(None))
    where_decided = _only_where(Pair.decision.is_not(None))
    Index(f"ix_pairs_p_error{suffix}", dataset, *ranking)
    Index(f"ix_pairs_suspect_word{suffix}", dataset, Pair.suspect_word, *ranking)
    Index(f"ix_pairs_suspect_kind{suffix}", dataset, Pair.suspect_kind, *ranking)
    Index(f"ix_pairs_split{suffix}", dataset, Pair.split, *ranking)
    Index(f"ix_pairs_unreviewed{suffix}", dataset, *ranking, **where_undecided)
    Index(f"ix_pairs_decided{suffix}", dataset, Pair.decision, *ranking, **where_decided)


_index_probabilities(Pair.p_error_even, "")
_index_probabilities(Pair.p_error_odd, "_odd")


class ImportProblem(Base):
    """A row that could not be imported, or an unreadable image: where, and what to do."""

    __tablename__ = "import_problems"

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"), index=True)
    file: Mapped[str] = mapped_column(Text)
    row: Mapped[int | None] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(64))
    message: Mapped[str] = mapped_column(Text)
    external_id: Mapped[str | None] = mapped_column(Text)


class Run(Base):
    """A computation that produced numbers: by which model, with which parameters."""

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


class _PackedTrajectory:
    """A trajectory's values, packed; see `queries/trajectory_queries.py`."""

    scores: Mapped[bytes] = mapped_column(LargeBinary)
    similarities: Mapped[bytes] = mapped_column(LargeBinary)
    removed: Mapped[bytes] = mapped_column(LargeBinary)
    first_step_scores: Mapped[bytes] = mapped_column(LargeBinary)
    truncated: Mapped[bool] = mapped_column(Boolean, server_default=false())
    #: x_1 … x_T if they do not follow from `removed`; see `db/blobs.py`.
    captions: Mapped[bytes | None] = mapped_column(LargeBinary)
    #: The model's auxiliary score for the same captions, if it has one.
    second_scores: Mapped[bytes | None] = mapped_column(LargeBinary)
    second_first_step_scores: Mapped[bytes | None] = mapped_column(LargeBinary)
    #: A captioner's expectations of the words, and its identity; see `trajectory_queries`.
    expectation: Mapped[bytes | None] = mapped_column(LargeBinary)
    captioner: Mapped[str | None] = mapped_column(String(64))
    #: False: only the first step was computed, and there are more steps.
    whole: Mapped[bool] = mapped_column(Boolean, server_default=true())


class Trajectory(_PackedTrajectory, Base):
    """The trajectory of a pair's caption under one run, or one of each of its claims. `start`,
    `end`: the claim's characters; an `end` of NULL: the whole caption."""

    __tablename__ = "trajectories"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    start: Mapped[int] = mapped_column(Integer, primary_key=True, server_default=text("0"))
    end: Mapped[int | None] = mapped_column(Integer)


Index("ix_trajectories_run", Trajectory.run_id, Trajectory.pair_id)
Index(
    "ix_trajectories_first_step", Trajectory.run_id, Trajectory.pair_id,
    **_only_where(Trajectory.whole.is_(False)),
)  # fmt: skip


class CopyTrajectory(_PackedTrajectory, Base):
    """The trajectory of a noisy copy of a pair's caption, for training."""

    __tablename__ = "copy_trajectories"

    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True, index=True)
    #: SHA-256 of the copy's caption, which follows from the pair's and the seed of the noise.
    caption: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)


class Classifier(Base):
    """A trained classifier in its library's own safe format. At most one per dataset is active."""

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


Index("uq_classifiers_active", Classifier.dataset_id, unique=True, **_only_where(Classifier.active))


class Detection(Base):
    """The detection result of one pair. `suspects`: packed (start, end, score)."""

    __tablename__ = "detections"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    run_id: Mapped[int | None] = mapped_column(ForeignKey("runs.id"))
    classifier_id: Mapped[int | None] = mapped_column(ForeignKey("classifiers.id"))
    p_error: Mapped[float | None] = mapped_column(Double)
    suspects: Mapped[bytes] = mapped_column(LargeBinary)


class Claim(Base):
    """One claim of a caption that has several, with its newest numbers. The columns of its pair are
    their aggregates. `start`, `end`: its characters; `kind`, `repeats`, `subject`: see
    `engine.claims.claim.Claim`."""

    __tablename__ = "claims"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    start: Mapped[int] = mapped_column(Integer, primary_key=True)
    end: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(String(16))
    repeats: Mapped[bool] = mapped_column(Boolean, server_default=false())
    subject: Mapped[str] = mapped_column(Text, server_default="")
    s_0: Mapped[float | None] = mapped_column(Double)
    gain: Mapped[float | None] = mapped_column(Double)
    icc: Mapped[float | None] = mapped_column(Double)
    p_error: Mapped[float | None] = mapped_column(Double)


class PairNumber(Base):
    """The number that a measure without a column of its own gives a pair (see `db/measures.py`)."""

    __tablename__ = "pair_numbers"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    measure: Mapped[str] = mapped_column(String(40), primary_key=True)
    #: The pair's, for the index by which a queue is in the order of the numbers.
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"))
    value: Mapped[float] = mapped_column(Double)


Index(
    "ix_pair_numbers_order",
    PairNumber.dataset_id, PairNumber.measure, PairNumber.value, PairNumber.pair_id,
)  # fmt: skip


class PhraseScore(Base):
    """A pair's phrases under one run, packed; see `queries/phrase_queries.py`."""

    __tablename__ = "phrase_scores"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    phrases: Mapped[bytes] = mapped_column(LargeBinary)


Index("ix_phrase_scores_run", PhraseScore.run_id, PhraseScore.pair_id)


class SecondOpinion(Base):
    """A second model's answer to the question whether a pair's picture shows its caption; see
    `queries/signal_queries.py`."""

    __tablename__ = "second_opinions"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    #: P(yes) / (P(yes) + P(no)); None: it answered something else.
    p_yes: Mapped[float | None] = mapped_column(Double)
    #: The same of the caption without one of its words, packed as (start, end, P).
    deletions: Mapped[bytes] = mapped_column(LargeBinary)


Index("ix_second_opinions_run", SecondOpinion.run_id, SecondOpinion.pair_id)


class Suggestion(Base):
    """A suggested caption. `caption_digest` stands in for the caption in the unique
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
    #: 'correction' or 'boost'.
    kind: Mapped[str] = mapped_column(String(16), server_default="correction")
    #: Model, prompting mode, prompt version, the model's steps; None for those made without a
    #: model.
    provenance: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))


class CorrectionAttempt(Base):
    """An attempt of a model to correct a pair and its outcome, so that it is not repeated."""

    __tablename__ = "correction_attempts"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    proposer: Mapped[str] = mapped_column(String(64), primary_key=True)
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    outcome: Mapped[str] = mapped_column(String(16))
    detail: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class Verdict(Base):
    """One act on one pair: a decision, an undo or a redo. Never changed.

    Acts of a pair are numbered 1, 2, …: `version`. `replaces` is the version in effect before,
    `standing_version` the one whose decision is in effect after it (0: undecided). `undoes` is the
    version reverted by an undo, `redoes` the one restored by a redo; both store the resulting
    decision.
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
    standing_version: Mapped[int] = mapped_column(Integer)
    undoes: Mapped[int | None] = mapped_column(Integer)
    redoes: Mapped[int | None] = mapped_column(Integer)
    #: Acts that were given, undone or redone together.
    batch: Mapped[str | None] = mapped_column(String(32))
    #: A boost was accepted: the caption was correct and now says more.
    enriches: Mapped[bool] = mapped_column(Boolean, server_default=false())
    #: The curator's note on the decision in effect after this act.
    note: Mapped[str] = mapped_column(Text, server_default="")
    #: As in `Pair`, of the decision in effect after this act.
    sampling: Mapped[str] = mapped_column(String(16), server_default="")
    #: As in `Pair`, after this act.
    claim_labels: Mapped[list[dict[str, Any]] | None] = mapped_column(JSON(none_as_null=True))
    #: Where the claim starts that the act is about; NULL: it is about the caption.
    claim: Mapped[int | None] = mapped_column(Integer)
    #: The earlier version whose state this act brings back (0: undecided); NULL: another act.
    restores: Mapped[int | None] = mapped_column(Integer)
    #: Of an undo or a redo that may be requested twice: the id that its page has given it.
    request_id: Mapped[str | None] = mapped_column(String(32))

    __table_args__ = (
        UniqueConstraint("pair_id", "version"),
        CheckConstraint(_DECISION_IS_KNOWN, name="decision_is_known"),
        CheckConstraint(_CORRECTION_HAS_CAPTION, name="correction_has_caption"),
        {"sqlite_autoincrement": True},
    )


Index("ix_verdicts_author", Verdict.author, Verdict.id)
Index("ix_verdicts_request_id", Verdict.request_id, **_only_where(Verdict.request_id.is_not(None)))


class Opinion(Base):
    """One curator's own opinion on one pair; the verdict in effect is in `pairs`.

    Derived from `verdicts` and written with them: the basis of agreement and of the assignment of
    pairs to curators. `settles`: an adjudicator's decision that ends a disagreement.
    """

    __tablename__ = "opinions"

    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True)
    author: Mapped[str] = mapped_column(String(255), primary_key=True)
    decision: Mapped[str] = mapped_column(String(16))
    corrected_caption: Mapped[str | None] = mapped_column(Text)
    settles: Mapped[bool] = mapped_column(Boolean, server_default=false())
    enriches: Mapped[bool] = mapped_column(Boolean, server_default=false())
    decided_at: Mapped[datetime] = mapped_column(UtcDateTime)

    __table_args__ = (
        CheckConstraint(_DECISION_IS_KNOWN, name="decision_is_known"),
        CheckConstraint(_CORRECTION_HAS_CAPTION, name="correction_has_caption"),
    )


class Hold(Base):
    """A pair on a curator's screen: until the hold expires, no one else gets the pair."""

    __tablename__ = "holds"

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
    """A browser that has logged in. Only the digest of its token is stored."""

    __tablename__ = "logins"

    token_digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    curator_id: Mapped[int] = mapped_column(ForeignKey("curators.id"), index=True)
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class ApiKey(Base):
    """A key with which a program acts for an account. Only its digest is stored. `may_review`:
    whether it may write, or only read."""

    __tablename__ = "api_keys"

    id: Mapped[int] = mapped_column(primary_key=True)
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    curator_id: Mapped[int] = mapped_column(ForeignKey("curators.id"), index=True)
    label: Mapped[str] = mapped_column(String(80))
    may_review: Mapped[bool] = mapped_column(Boolean)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class WordMark(Base):
    """A word of a caption (characters start:end) that a curator marked as wrong."""

    __tablename__ = "word_marks"
    __table_args__ = (UniqueConstraint("pair_id", "author", "start", "end"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"))
    start: Mapped[int] = mapped_column(Integer)
    end: Mapped[int] = mapped_column(Integer)
    author: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class PairTag(Base):
    """One of people's own words on a pair, such as the name of a list of suspects."""

    __tablename__ = "pair_tags"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    pair_id: Mapped[int] = mapped_column(ForeignKey("pairs.id"), primary_key=True, index=True)
    author: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class PageRequest(Base):
    """An act of a page that its request names by an id: what it led to, to be told again."""

    __tablename__ = "page_requests"

    #: As the page has named it, with the number of its part.
    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    author: Mapped[str] = mapped_column(String(255), primary_key=True)
    #: As `request_queries.run_idempotent` stores it; NULL: an edit that committed before it could
    #: tell.
    outcome: Mapped[Any] = mapped_column(JSON(none_as_null=True), nullable=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class View(Base):
    """A named queue: the fields of its filter, as set on the page."""

    __tablename__ = "views"
    __table_args__ = (UniqueConstraint("dataset_id", "name"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    dataset_id: Mapped[int] = mapped_column(ForeignKey("datasets.id"))
    name: Mapped[str] = mapped_column(String(255))
    fields: Mapped[dict[str, Any]] = mapped_column(JSON)
    author: Mapped[str] = mapped_column(String(255))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now)


class Job(Base):
    """A background job. `owner` identifies the process that runs it."""

    __tablename__ = "jobs"

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(64))
    dataset_id: Mapped[int | None] = mapped_column(ForeignKey("datasets.id"), index=True)
    status: Mapped[str] = mapped_column(String(16), index=True)
    done: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    total: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    #: How far it is while it runs: the fields of `backend.progress.Step`.
    step: Mapped[dict[str, Any]] = mapped_column(JSON, server_default="{}")
    #: How it ended, if it is not done; `failure`: the kind of error; `continued_by`: the job that
    #: has taken it over.
    message: Mapped[str] = mapped_column(Text, server_default="")
    failure: Mapped[str] = mapped_column(String(64), server_default="")
    continued_by: Mapped[int | None] = mapped_column(Integer)
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
    """A key-value setting of the database, as opposed to the machine."""

    __tablename__ = "settings"

    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    value: Mapped[Any] = mapped_column(JSON)
