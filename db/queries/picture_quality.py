"""Signals of pictures, and the issues derived from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import (
    String,
    cast,
    delete,
    exists,
    func,
    insert,
    literal,
    null,
    select,
    union_all,
)
from sqlalchemy.orm import Session

from db.models import Pair, PictureIssue, PictureSignals, WordMark
from db.queries.blind_review import may_know_pair, pair_columns, reader_of
from db.queries.pairs import PAIR_FIELDS, PairRow
from db.queries.statements import (
    check_number,
    chunks,
    columns_of,
    in_dataset,
    insert_for,
    record,
    table_of,
)


@dataclass(frozen=True)
class SignalsRow:
    """See `db.models.PictureSignals`."""

    pair_id: int
    brightness_perc_5: float
    brightness_perc_99: float
    aspect_ratio: float
    entropy: float
    blurriness: float
    blurriness_grayscale_std: float
    size: float
    pixels: str
    phash: str


_COLUMNS = columns_of(PictureSignals, SignalsRow)


def unmeasured(session: Session, dataset_id: int, after_id: int, limit: int) -> list[PairRow]:
    """The next pairs after `after_id`, in import order, whose picture has no signals yet."""
    rows = session.execute(
        select(*pair_columns(session, PAIR_FIELDS, dataset_id))
        .where(
            in_dataset(dataset_id),
            Pair.id > after_id,
            ~exists().where(PictureSignals.pair_id == Pair.id),
        )
        .order_by(Pair.id)
        .limit(limit)
    )
    return [record(PairRow, row) for row in rows]


def save_signals(session: Session, rows: Sequence[SignalsRow]) -> None:
    """Save signals; existing ones are not changed."""
    for row in rows:
        for name, value in asdict(row).items():
            check_number(value if isinstance(value, float) else None, name)
    if rows:
        session.connection().execute(
            insert_for(session, PictureSignals).on_conflict_do_nothing(),
            [asdict(row) for row in rows],
        )


def signals_of(session: Session, dataset_id: int) -> list[tuple[SignalsRow, str]]:
    """All signals of a dataset, each with the picture's name, in import order."""
    rows = session.execute(
        select(*_COLUMNS, Pair.image_path)
        .join(Pair, Pair.id == PictureSignals.pair_id)
        .where(in_dataset(dataset_id))
        .order_by(Pair.id)
    )
    return [(SignalsRow(*row[:-1]), str(row[-1])) for row in rows]


def replace_issues(session: Session, dataset_id: int, issues: Mapping[str, Iterable[int]]) -> None:
    """Store the pairs of each issue; replaces all earlier issues of the dataset."""
    pairs = select(Pair.id).where(Pair.dataset_id == dataset_id).scalar_subquery()
    session.execute(delete(PictureIssue).where(PictureIssue.pair_id.in_(pairs)))
    values = [
        {"pair_id": int(pair_id), "issue": issue}
        for issue, ids in issues.items()
        for pair_id in ids
    ]
    for part in chunks(values, 5000):
        session.connection().execute(insert(table_of(PictureIssue)), list(part))


def marks_and_issues(
    session: Session, pair_id: int
) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """Both in one statement: the words that curators marked as wrong (characters start, end; in
    caption order), and the issues of the pair's picture."""
    marks = select(WordMark.start, WordMark.end, cast(null(), String)).where(
        WordMark.pair_id == pair_id
    )
    if not may_know_pair(session, pair_id):
        marks = marks.where(WordMark.author == reader_of(session))
    issues = select(literal(0), literal(0), PictureIssue.issue).where(
        PictureIssue.pair_id == pair_id
    )
    rows = session.execute(union_all(marks, issues)).all()
    words = sorted({(int(start), int(end)) for start, end, issue in rows if issue is None})
    return words, tuple(sorted(str(issue) for _, _, issue in rows if issue is not None))


def all_issues(session: Session, dataset_id: int) -> dict[int, tuple[str, ...]]:
    """The issues of all pairs of the dataset whose picture has any."""
    issues: dict[int, list[str]] = {}
    rows = session.execute(
        select(PictureIssue.pair_id, PictureIssue.issue)
        .join(Pair, Pair.id == PictureIssue.pair_id)
        .where(Pair.dataset_id == dataset_id)
        .order_by(PictureIssue.pair_id, PictureIssue.issue)
    )
    for pair_id, issue in rows:
        issues.setdefault(pair_id, []).append(issue)
    return {pair_id: tuple(names) for pair_id, names in issues.items()}


def count_measured(session: Session, dataset_id: int) -> int:
    query = (
        select(func.count())
        .select_from(PictureSignals)
        .join(Pair, Pair.id == PictureSignals.pair_id)
        .where(in_dataset(dataset_id))
    )
    return session.execute(query).scalar_one()
