"""Signals of pictures, and the issues derived from them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import bindparam, exists, func, select
from sqlalchemy.orm import Session

from backend.features.quality.tables import PictureIssue, PictureSignals
from db.models import Pair
from db.queries.blind_review import pair_columns
from db.queries.pair_queries import PAIR_FIELDS, PairRow
from db.queries.statements import (
    check_number,
    columns_of,
    in_dataset,
    insert_for,
    read_records,
    replace_rows,
    run,
)


@dataclass(frozen=True)
class SignalsRow:
    """See `PictureSignals`."""

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


def unmeasured_pairs(session: Session, dataset_id: int, after_id: int, limit: int) -> list[PairRow]:
    """The next pairs after `after_id`, in import order, whose picture has no signals yet."""
    is_measured = exists().where(PictureSignals.pair_id == Pair.id)
    query = select(*pair_columns(session, PAIR_FIELDS, dataset_id))
    query = query.where(in_dataset(dataset_id), Pair.id > after_id, ~is_measured)
    return read_records(session, PairRow, query.order_by(Pair.id).limit(limit))


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
    values = [
        {"pair_id": int(pair_id), "issue": issue}
        for issue, ids in issues.items()
        for pair_id in ids
    ]
    replace_rows(session, dataset_id, PictureIssue, values)


def count_measured(session: Session, dataset_id: int) -> int:
    query = (
        select(func.count())
        .select_from(PictureSignals)
        .join(Pair, Pair.id == PictureSignals.pair_id)
        .where(in_dataset(dataset_id))
    )
    return session.execute(query).scalar_one()


_ISSUES = (
    select(PictureIssue.pair_id, PictureIssue.issue)
    .where(PictureIssue.pair_id.in_(bindparam("pair_ids", expanding=True)))
    .order_by(PictureIssue.issue)
)


def issues_of(session: Session, pair_ids: Sequence[int]) -> dict[int, tuple[str, ...]]:
    """The issues of these pairs whose picture has any, in alphabetical order."""
    issues: dict[int, list[str]] = {}
    for pair_id, issue in run(session, _ISSUES, pair_ids=list(pair_ids)):
        issues.setdefault(pair_id, []).append(issue)
    return {pair_id: tuple(names) for pair_id, names in issues.items()}
