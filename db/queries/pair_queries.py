"""Pairs: add, look up, iterate, count."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.orm import Session

from db.decisions import is_wrong, judgement
from db.measures import MeasuredRecord
from db.models import (
    CAPTION_START,
    PICTURE,
    PICTURE_CHARACTERS,
    Pair,
    Suggestion,
    Trajectory,
)
from db.queries.blind_review import built_once, judgement_of, pair_columns, verdict_seen
from db.queries.ranking_queries import p_error_of
from db.queries.statements import (
    any_of,
    check_text,
    chunks,
    get_record,
    in_dataset,
    insert_for,
    read_records,
    run,
)


class PairCaption(NamedTuple):
    """A pair as models need it."""

    pair_id: int
    image_path: str
    caption: str


@dataclass(frozen=True)
class NewPair:
    """A pair to add. `external_id` is the source's own id, unique in its dataset; `image_path` is
    relative to the dataset's root; `extra` contains the source's other columns."""

    external_id: str
    image_path: str
    caption: str
    split: str | None = None
    source_file: str = ""
    source_row: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PairRow(MeasuredRecord):
    """The current state of a pair. `numbers`: by the names of `db.measures.MEASURES`."""

    id: int
    dataset_id: int
    external_id: str
    image_path: str
    caption: str
    split: str | None
    source_file: str
    source_row: int | None
    extra: dict[str, Any]
    words_read: int | None
    truncated: bool
    verdict_version: int
    decision: str | None
    corrected_caption: str | None
    decided_at: datetime | None
    decided_by: str | None
    suspect_word: str | None
    suspect_kind: str | None
    enriches: bool = False
    #: The note of the verdict in effect; "": none.
    note: str = ""
    #: Gone from the source; see `db.models.Pair`.
    hidden: bool = False
    #: How it had come to be shown to whoever decided it; see `db.decisions.SAMPLINGS`.
    sampling: str = ""

    @property
    def judgement(self) -> str | None:
        """What the verdict says about the original caption; see `db.decisions.judgement`."""
        return judgement(self.decision, self.enriches, self.decided_by, bool(self.caption))


@dataclass(frozen=True)
class DatasetCounts:
    """`scored`: pairs with s_0. `errors_found`: verdicts that say the caption was wrong."""

    total: int
    scored: int
    reviewed: int
    errors_found: int
    by_decision: dict[str, int]


@dataclass(frozen=True)
class ReviewCounts:
    """Progress of a review. `errors_found`: verdicts that say the caption was wrong."""

    dataset_id: int
    total: int
    reviewed: int
    errors_found: int


#: The names of the columns of a `PairRow`, for `pair_columns`.
PAIR_FIELDS = tuple(PairRow.__dataclass_fields__)

_INSERT_AT_ONCE = 5000


def add_pairs(session: Session, dataset_id: int, rows: Sequence[NewPair]) -> int:
    """Add pairs; those whose external id exists already are not changed. Returns how many are new.

    An interrupted import can therefore simply be run again. All rows are checked before any is
    written: raises `UnstorableText` naming the first that cannot be stored byte for byte.
    """
    for row in rows:
        where = row.source_file or "the source"
        where += f", row {row.source_row}" if row.source_row is not None else ""
        check_text(row.external_id, f"The id in {where}", 600)
        check_text(row.caption, f"The caption in {where}")
        check_text(row.image_path, f"The image path in {where}")
        check_text(row.split or "", f"The split in {where}", 255)
    row_count = 0
    # Returned rows are counted: drivers do not agree on the row count of a bulk insert.
    statement = (
        insert_for(session, Pair)
        .on_conflict_do_nothing(index_elements=["dataset_id", "external_id"])
        .returning(Pair.id)
    )
    # The raw connection, not the session: its unit of work costs more than the insert itself.
    connection = session.connection()
    for part in chunks(rows, _INSERT_AT_ONCE):
        result = connection.execute(
            statement,
            [
                vars(row)
                | {
                    "dataset_id": dataset_id,
                    "random_key": random_key(dataset_id, row.external_id),
                }
                for row in part
            ],
        )
        row_count += len(result.all())
    return row_count


def random_key(dataset_id: int, external_id: str) -> float:
    """The pair's position in the random order, in [0, 1): a hash of dataset and external id, so
    that nothing else influences it."""
    digest = hashlib.sha256(f"{dataset_id}:{external_id}".encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def get_pair(session: Session, pair_id: int) -> PairRow:
    """Raises `MissingRow`."""
    query = select(*pair_columns(session, PAIR_FIELDS)).where(Pair.id == pair_id)
    missing = f"There is no pair {pair_id}; its dataset may have been deleted."
    return get_record(session, PairRow, query, missing)


def pairs_after(
    session: Session,
    dataset_id: int,
    after_id: int = 0,
    limit: int = 1000,
    with_hidden: bool = False,
) -> list[PairRow]:
    """The next `limit` pairs after `after_id` in import order; empty at the end.

    For long jobs: one short session per batch, so that no transaction stays open for hours.
    """
    columns = pair_columns(session, PAIR_FIELDS, dataset_id)
    of_dataset = Pair.dataset_id == dataset_id if with_hidden else in_dataset(dataset_id)
    query = select(*columns).where(of_dataset, Pair.id > after_id)
    return read_records(session, PairRow, query.order_by(Pair.id).limit(limit))


def unscored_by_image(session: Session, dataset_id: int, run_id: int) -> Iterator[tuple[int, str]]:
    """(id, image's path) of the captions without a trajectory of that run, ordered by path, then in
    import order, so that pairs of one image are adjacent. Streamed."""
    query = (
        select(Pair.id, Pair.image_path)
        .where(
            in_dataset(dataset_id),
            Pair.caption != "",
            ~exists().where(Trajectory.pair_id == Pair.id, Trajectory.run_id == run_id),
        )
        .order_by(Pair.image_path, Pair.id)
        .execution_options(yield_per=10_000)
    )
    for row in session.execute(query):
        yield int(row[0]), str(row[1])


def count_unscored(session: Session, dataset_id: int, run_id: int) -> int:
    """How many captions have no trajectory of that run."""
    is_scored = exists().where(Trajectory.pair_id == Pair.id, Trajectory.run_id == run_id)
    query = select(func.count()).where(in_dataset(dataset_id), Pair.caption != "", ~is_scored)
    return int(session.execute(query).scalar_one())


def without_description(session: Session, dataset_id: int) -> list[tuple[int, str]]:
    """(id, image's path) of the pairs without a caption that have no suggestion and no verdict."""
    query = select(Pair.id, Pair.image_path).where(*_lacks_description(dataset_id))
    return [row.tuple() for row in session.execute(query.order_by(Pair.image_path, Pair.id))]


def count_without_description(session: Session, dataset_id: int) -> int:
    """How many pairs `without_description` would return."""
    query = select(func.count(Pair.id)).where(*_lacks_description(dataset_id))
    return session.execute(query).scalar_one()


def _lacks_description(dataset_id: int) -> tuple[ColumnElement[bool], ...]:
    is_described = exists().where(Suggestion.pair_id == Pair.id)
    return in_dataset(dataset_id), CAPTION_START == "", Pair.decision.is_(None), ~is_described


def count_captions(session: Session, dataset_id: int) -> int:
    """How many pairs have a caption."""
    query = select(func.count()).where(in_dataset(dataset_id), Pair.caption != "")
    return int(session.execute(query).scalar_one())


def has_split(session: Session, dataset_id: int, name: str) -> bool:
    """Whether the dataset has pairs in this split; "" means without a split."""
    is_of_it = Pair.split == name if name else or_(Pair.split.is_(None), Pair.split == "")
    query = select(Pair.id).where(Pair.dataset_id == dataset_id, is_of_it).limit(1)
    return session.execute(query).first() is not None


class CaptionWithValue(NamedTuple):
    """A pair's caption, with its text in one column of the source; "" without one."""

    id: int
    caption: str
    value: str


def captions_with_column(
    session: Session, dataset_id: int, column: str, after_id: int, limit: int
) -> list[CaptionWithValue]:
    """The next pairs that have a caption, in import order, with the source's column of this name;
    empty at the end."""
    value = func.coalesce(Pair.extra[column].as_string(), "")
    query = select(Pair.id, Pair.caption, value).where(
        in_dataset(dataset_id), Pair.caption != "", Pair.id > after_id
    )
    rows = session.execute(query.order_by(Pair.id).limit(limit))
    return [CaptionWithValue(*row) for row in rows]


def pairs_of(session: Session, pair_ids: Sequence[int]) -> list[PairRow]:
    """The pairs with these ids, in import order."""
    return read_records(session, PairRow, _pairs_of(session, None), pair_ids=pair_ids)


@built_once
def _pairs_of(session: Session, dataset_id: int | None) -> Select[*tuple[Any, ...]]:
    query = select(*pair_columns(session, PAIR_FIELDS, dataset_id))
    return query.where(Pair.id.in_(any_of("pair_ids"))).order_by(Pair.id)


#: A picture with more captions than this shows the first ones.
MOST_CAPTIONS = 50


@dataclass(frozen=True)
class CaptionRow:
    """A caption of a picture: its probability of error, its verdict as the reader sees it, and its
    kind where there are several."""

    pair_id: int
    caption: str
    corrected_caption: str | None
    p_error: float | None
    decision: str | None
    enriches: bool
    caption_field: str | None = None


def captions_of_picture(session: Session, dataset_id: int, image_path: str) -> list[CaptionRow]:
    """The captions of the picture with this address, in import order."""
    return read_records(
        session, CaptionRow, _captions_of_picture(session, dataset_id), dataset_id=dataset_id,
        pictures=[image_path[:PICTURE_CHARACTERS]], image_path=image_path,
    )  # fmt: skip


@built_once
def _captions_of_picture(session: Session, dataset_id: int | None) -> Select[*tuple[Any, ...]]:
    return (
        select(*pair_columns(session, CaptionRow.__dataclass_fields__, dataset_id))
        .where(
            in_dataset(bindparam("dataset_id")),
            PICTURE.in_(any_of("pictures")),
            # Not of the bare column: SQLite would insert its value into PICTURE, and read all
            # pairs.
            func.coalesce(Pair.image_path, "") == bindparam("image_path"),
        )
        .order_by(Pair.id)
        .limit(MOST_CAPTIONS)
    )


def most_likely_wrong(
    session: Session, dataset_id: int, above: float, at_most: int
) -> list[PairRow]:
    """At most `at_most` pairs with a p_error of at least `above`, most likely wrong first."""
    p_error = p_error_of(session, dataset_id)
    query = select(*pair_columns(session, PAIR_FIELDS, dataset_id))
    query = query.where(in_dataset(dataset_id), p_error >= above)
    return read_records(session, PairRow, query.order_by(p_error.desc(), Pair.id).limit(at_most))


def decided_pairs(session: Session, dataset_id: int, decisions: Sequence[str]) -> list[int]:
    """Ids of the pairs with one of these verdicts, in import order."""
    decision = verdict_seen(session, dataset_id).decision
    query = select(Pair.id).where(in_dataset(dataset_id), decision.in_(decisions))
    return list(session.execute(query.order_by(Pair.id)).scalars())


def iterate_pairs(session: Session, dataset_id: int, batch: int = 1000) -> Iterator[PairRow]:
    """All pairs in import order, `batch` at a time in memory. The session stays open meanwhile; use
    `pairs_after` for long jobs."""
    after_id = 0
    while rows := pairs_after(session, dataset_id, after_id, batch):
        yield from rows
        after_id = rows[-1].id


def ids_by_picture(session: Session, dataset_id: int) -> dict[str, list[int]]:
    """Pair ids by picture; pictures and pairs are in import order."""
    rows = session.execute(
        select(Pair.image_path, Pair.id)
        .where(in_dataset(dataset_id))
        .order_by(Pair.id)
        .execution_options(yield_per=5000)
    )
    pictures: dict[str, list[int]] = {}
    for name, pair_id in rows:
        pictures.setdefault(name, []).append(pair_id)
    return pictures


def first_splits(session: Session, dataset_id: int, at_most: int) -> list[str]:
    """The names of the dataset's splits, in the database's order; one step in an index each,
    however many pairs there are."""
    names = [""]
    while len(names) <= at_most:
        query = select(Pair.split).where(Pair.dataset_id == dataset_id, Pair.split > names[-1])
        name = session.execute(query.order_by(Pair.split).limit(1)).scalar()
        if name is None:
            break
        names.append(name)
    return names[1:]


def ids_of_splits(session: Session, dataset_id: int, names: Sequence[str]) -> list[int]:
    """Ids of the pairs in these splits; "" stands for no split."""
    split = func.coalesce(Pair.split, "")
    rows = session.execute(select(Pair.id).where(in_dataset(dataset_id), split.in_(names)))
    return list(rows.scalars())


def ids_by_external_id(
    session: Session, dataset_id: int, external_ids: Sequence[str]
) -> dict[str, int]:
    """Pair ids by external id; those that do not exist are left out."""
    id_of: dict[str, int] = {}
    for part in chunks(external_ids, 1000):
        rows = session.execute(
            select(Pair.external_id, Pair.id).where(
                Pair.dataset_id == dataset_id, Pair.external_id.in_(part)
            )
        )
        id_of.update(row.tuple() for row in rows)
    return id_of


def has_images_below(session: Session, dataset_id: int, folder: str) -> bool:
    """Whether the dataset has images in or below this folder, a path relative to its root ("": the
    root itself)."""
    query = select(Pair.id).where(Pair.dataset_id == dataset_id)
    if folder:
        query = query.where(Pair.image_path.startswith(f"{folder}/", autoescape=True))
    return session.execute(query.limit(1)).first() is not None


def sample_images(session: Session, dataset_id: int, size: int) -> list[str]:
    """Distinct image names of `size` pairs sampled at random."""
    rows = session.execute(
        select(Pair.image_path)
        .where(in_dataset(dataset_id))
        .order_by(Pair.random_key, Pair.id)
        .limit(size)
    ).scalars()
    return list(dict.fromkeys(rows))


def _count(*conditions: ColumnElement[bool]) -> ColumnElement[int]:
    of_dataset = Pair.dataset_id == bindparam("dataset_id")
    return select(func.count()).where(of_dataset, *conditions).scalar_subquery()


# As their index has it: SQLite takes "hidden IS 1" for something else.
_IS_UNSCORED, _IS_HIDDEN = Pair.s_0.is_(None), literal_column("pairs.hidden")
# The few hidden ones are subtracted: each count is a scan of an index alone.
_TOTALS = select(
    _count(), _count(_IS_HIDDEN), _count(_IS_UNSCORED), _count(_IS_UNSCORED, _IS_HIDDEN)
)


def totals(session: Session, dataset_id: int) -> tuple[int, int]:
    """(pairs, scored pairs) of the dataset without hidden ones; takes 60 ms for a million pairs."""
    total, hidden, unscored, hidden_unscored = run(session, _TOTALS, dataset_id=dataset_id).one()
    return total - hidden, total - hidden - unscored + hidden_unscored


def count_truncated(session: Session, dataset_id: int) -> int:
    """Number of pairs whose captions the scorer truncated."""
    query = select(func.count()).select_from(Pair)
    return session.execute(query.where(in_dataset(dataset_id), Pair.truncated)).scalar_one()


def review_counts(session: Session, dataset_id: int, total: int | None = None) -> ReviewCounts:
    """Counts shown on the review page, queried at every key press. `total`: the number of pairs, if
    known."""
    if total is None:
        total = totals(session, dataset_id)[0]
    query = count_by_judgement(session, dataset_id)
    by_decision = {row[0]: int(row[1]) for row in run(session, query, dataset_id=dataset_id)}
    errors = sum(number for decision, number in by_decision.items() if is_wrong(decision))
    return ReviewCounts(dataset_id, total, sum(by_decision.values()), errors)


@built_once
def count_by_judgement(session: Session, dataset_id: int | None) -> Select[str | None, int]:
    """A query for the number of pairs by judgement."""
    verdict = verdict_seen(session, dataset_id)
    return (
        select(judgement_of(verdict), func.count())
        .where(in_dataset(bindparam("dataset_id")), ~verdict.is_undecided)
        .group_by(literal_column("1"))
    )


def counts(session: Session, dataset_id: int) -> DatasetCounts:
    """Totals of one dataset."""
    total, scored_pairs = totals(session, dataset_id)
    rows = run(session, count_by_judgement(session, dataset_id), dataset_id=dataset_id)
    by_decision = {decision: number for decision, number in rows if decision is not None}
    return DatasetCounts(
        total=total,
        scored=scored_pairs,
        reviewed=sum(by_decision.values()),
        errors_found=sum(number for name, number in by_decision.items() if is_wrong(name)),
        by_decision=by_decision,
    )


def extras_of(session: Session, pair_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The columns of the source that these pairs came with."""
    rows = session.execute(select(Pair.id, Pair.extra).where(Pair.id.in_(pair_ids)))
    return dict(rows.tuples().all())
