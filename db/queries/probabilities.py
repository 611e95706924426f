"""The probability of error of a pair: which of its two columns is in use.

`Dataset.ranking` selects it for all pairs of the dataset (see `queries/rankings.py`). Queries that
filter or order by it take the column itself, so that they can use its indexes.
"""

from sqlalchemy import case, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.models import Dataset, Pair

_COLUMNS = (Pair.p_error_even, Pair.p_error_odd)
#: The number of the ranking in use, for pairs of any datasets.
RANKING = (
    select(Dataset.ranking).where(Dataset.id == Pair.dataset_id).correlate(Pair).scalar_subquery()
)
#: The probability in use as a column of a result, for pairs of any datasets.
P_ERROR = case((RANKING % 2 == 1, Pair.p_error_odd), else_=Pair.p_error_even).label("p_error")


def column_of(ranking: int) -> InstrumentedAttribute[float | None]:
    """The column that holds the ranking of this number."""
    return _COLUMNS[ranking % 2]


def ranking_of(session: Session, dataset_id: int) -> int:
    """The number of the ranking in use; 0 for a dataset that does not exist: it has no pairs."""
    query = select(Dataset.ranking).where(Dataset.id == dataset_id)
    return session.execute(query).scalar_one_or_none() or 0


def p_error_of(
    session: Session, dataset_id: int, following: bool = False
) -> InstrumentedAttribute[float | None]:
    """The column of the dataset's probabilities in use, or of the ranking that will follow."""
    return column_of(ranking_of(session, dataset_id) + following)


def check_probability(pair_id: int, p_error: float | None) -> None:
    """Raise ValueError for a value that is not a probability."""
    if p_error is not None and not 0.0 <= p_error <= 1.0:
        raise ValueError(f"p_error of pair {pair_id} must lie in [0, 1], not {p_error}")
