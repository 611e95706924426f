"""The numbers of measures that have no column of their own (`pair_numbers`)."""

from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from db.models import Pair, PairNumber
from db.queries.number_columns import has_number
from db.queries.pair_queries import PairCaption
from db.queries.statements import check_number, in_dataset, save_rows


def save_numbers(
    session: Session, dataset_id: int, measure: str, value_of_pair: Mapping[int, float]
) -> None:
    """Save a measure's numbers of a dataset's pairs, by id; earlier ones are replaced. Raises
    ValueError for one that is not finite."""
    for pair_id, value in value_of_pair.items():
        check_number(value, f"{measure} of pair {pair_id}")
    rows = [
        {"pair_id": pair_id, "measure": measure, "dataset_id": dataset_id, "value": value}
        for pair_id, value in value_of_pair.items()
    ]
    save_rows(session, PairNumber, ("pair_id", "measure"), rows, except_for=("dataset_id",))


def unmeasured_pairs(
    session: Session, dataset_id: int, measure: str, after_id: int, limit: int
) -> list[PairCaption]:
    """The next pairs after `after_id` in import order that have a caption and no such number."""
    rows = session.execute(
        select(Pair.id, Pair.image_path, Pair.caption)
        .where(in_dataset(dataset_id), Pair.caption != "", Pair.id > after_id, ~has_number(measure))
        .order_by(Pair.id)
        .limit(limit)
    )
    return [PairCaption(*row) for row in rows]


def count_measured(session: Session, dataset_id: int, measure: str) -> int:
    """How many pairs of the dataset have such a number."""
    query = select(func.count(Pair.id)).where(in_dataset(dataset_id), has_number(measure))
    return session.execute(query).scalar_one()
