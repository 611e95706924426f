"""Who wrote captions, by a column of the source."""

from sqlalchemy import String, cast, func, select
from sqlalchemy.orm import Session

from db.models import Pair
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
