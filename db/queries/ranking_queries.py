"""Rankings: which probabilities of error are in use, and how the next ones take effect.

A pair has two columns for its probability of error, and `Dataset.ranking` selects one of them for
all pairs of the dataset (even or odd). A new ranking is written to the other column, in short
transactions between which others can write, and takes effect when that number is increased: no one
waits, however many pairs there are, and every snapshot shows one complete ranking. A program that
is killed meanwhile leaves the ranking in use unchanged.

Queries that filter or order by the probability take the column itself, so that they can use its
indexes.

One job at a time writes a ranking: it marks the dataset with a token, and each of its transactions
checks, under the dataset's lock, that no later one has marked it.
"""

import uuid
from collections.abc import Iterator, Mapping

from sqlalchemy import bindparam, case, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.models import Dataset, Pair, Suggestion
from db.queries.statements import lock_dataset, lock_pairs, run, set_columns

#: Two columns, of which each dataset uses one.
PROBABILITIES = (Pair.p_error_even, Pair.p_error_odd)
#: The number of the ranking in use, for pairs of any datasets.
RANKING = (
    select(Dataset.ranking).where(Dataset.id == Pair.dataset_id).correlate(Pair).scalar_subquery()
)
#: The probability in use as a column of a result, for pairs of any datasets.
P_ERROR = case((RANKING % 2 == 1, Pair.p_error_odd), else_=Pair.p_error_even).label("p_error")


def column_of(ranking: int) -> InstrumentedAttribute[float | None]:
    """The column that holds the ranking of this number."""
    return PROBABILITIES[ranking % 2]


_RANKING_OF = select(Dataset.ranking).where(Dataset.id == bindparam("dataset_id"))


def ranking_of(session: Session, dataset_id: int) -> int:
    """The number of the ranking in use; 0 for a dataset that does not exist: it has no pairs."""
    return run(session, _RANKING_OF, dataset_id=dataset_id).scalar_one_or_none() or 0


def p_error_of(
    session: Session, dataset_id: int, following: bool = False
) -> InstrumentedAttribute[float | None]:
    """The column of the dataset's probabilities in use, or of the ranking that will follow."""
    return column_of(ranking_of(session, dataset_id) + following)


def check_probability(pair_id: int, p_error: float | None) -> None:
    """Raise ValueError for a value that is not a probability."""
    if p_error is not None and not 0.0 <= p_error <= 1.0:
        raise ValueError(f"p_error of pair {pair_id} must lie in [0, 1], not {p_error}")


def begin(session: Session, dataset_id: int) -> str:
    """Begin the dataset's next ranking; returns the token to write it with. An earlier token ends:
    its job must not write any more."""
    lock_dataset(session, dataset_id)
    token = uuid.uuid4().hex
    session.execute(update(Dataset).where(Dataset.id == dataset_id).values(ranking_claim=token))
    return token


def is_current(session: Session, dataset_id: int, token: str) -> bool:
    """Whether the token is still valid. The dataset stays locked until this transaction ends."""
    lock_dataset(session, dataset_id)
    latest = select(Dataset.ranking_claim).where(Dataset.id == dataset_id)
    return session.execute(latest).scalar_one_or_none() == token


def iterate_next(session: Session, dataset_id: int) -> Iterator[tuple[int, float | None]]:
    """(pair, probability) of what has been written of the next ranking so far, or left over from
    the last but one, in import order. Streamed."""
    column = p_error_of(session, dataset_id, following=True)
    rows = session.execute(
        select(Pair.id, column)
        .where(Pair.dataset_id == dataset_id)
        .order_by(Pair.id)
        .execution_options(yield_per=10_000)
    )
    for row in rows:
        yield row.tuple()


def write_next(
    session: Session, dataset_id: int, probabilities: Mapping[int, float | None]
) -> None:
    """Write probabilities of the next ranking, None for unknown; those in use are not changed."""
    for pair_id, p_error in probabilities.items():
        check_probability(pair_id, p_error)
    lock_pairs(session, list(probabilities))
    column = p_error_of(session, dataset_id, following=True)
    set_columns(session, {pair_id: {column.key: p} for pair_id, p in probabilities.items()})


def use_next(session: Session, dataset_id: int) -> None:
    """Show the next ranking instead of the present one, and end its token. The probabilities of
    suggestions go with the present one: they become unknown until their pair is opened."""
    session.execute(
        update(Dataset)
        .where(Dataset.id == dataset_id)
        .values(ranking=Dataset.ranking + 1, ranking_claim=None)
    )
    session.execute(
        update(Suggestion)
        .where(
            Suggestion.pair_id.in_(select(Pair.id).where(Pair.dataset_id == dataset_id)),
            Suggestion.p_after.is_not(None),
        )
        .values(p_after=None),
        execution_options={"synchronize_session": False},
    )
