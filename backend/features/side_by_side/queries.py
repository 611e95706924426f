"""Who wrote captions, by a column of the source."""

from sqlalchemy import String, cast, func, select
from sqlalchemy.orm import Session

from db.models import Pair
from db.queries.ranking_queries import p_error_of
from db.queries.statements import in_dataset

#: Values of a column that are counted: one that has more names no captioners.
MOST_NAMES = 1000


def count_by(session: Session, dataset_id: int, column: str) -> dict[str, int]:
    """The number of captions by each value of the column, the most first; `MOST_NAMES` of them."""
    name = cast(Pair.extra[column].as_string(), String)
    query = (
        select(name, func.count())
        .where(in_dataset(dataset_id), Pair.caption != "", name.is_not(None), name != "")
        .group_by(name)
        .order_by(func.count().desc(), name)
        .limit(MOST_NAMES)
    )
    names: dict[str, int] = {}
    for text, count in session.execute(query).tuples():
        names[str(text)] = count
    return names


def chances_of(session: Session, dataset_id: int, column: str, name: str) -> tuple[int, float]:
    """The number and the sum of the chances of error of the captions by `name`."""
    p_error = p_error_of(session, dataset_id)
    query = select(func.count(p_error), func.sum(p_error)).where(
        in_dataset(dataset_id), cast(Pair.extra[column].as_string(), String) == name
    )
    count, total = session.execute(query).tuples().one()
    return count, float(total or 0.0)
