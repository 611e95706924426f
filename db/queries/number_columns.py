"""The numbers of pairs in queries, wherever their measures store them: as columns of `pairs`, or
as rows of `pair_numbers`."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, exists, select

from db.measures import MEASURES
from db.models import Pair, PairNumber
from db.queries.queue_filter import Range
from db.queries.ranking_queries import P_ERROR, PROBABILITIES


def number_column(name: str) -> ColumnElement[Any]:
    """The number that the measure of this name gives pairs of any datasets, to be selected."""
    if name == "p_error":
        return P_ERROR
    if MEASURES[name].is_column:
        return getattr(Pair, name).expression
    of_pair = (PairNumber.pair_id == Pair.id, PairNumber.measure == name)
    return select(PairNumber.value).where(*of_pair).correlate(Pair).scalar_subquery().label(name)


def columns_with_numbers() -> list[str]:
    """The columns of `pairs` that hold numbers of measures."""
    names = [name for name, measure in MEASURES.items() if measure.is_column and name != "p_error"]
    return [*names, *(column.key for column in PROBABILITIES)]


@dataclass(frozen=True)
class SortKey:
    """What the pairs of a dataset are sorted by, as an index has it: `value`, then `id`.
    `is_unknown`: a pair has no value. `joined`: what joins the rows of the values, all known, if
    they are not those of `pairs`."""

    value: ColumnElement[Any]
    id: ColumnElement[int]
    is_unknown: ColumnElement[bool]
    joined: tuple[ColumnElement[bool], ...] = ()


def rows_in_order(dataset_id: int, measure: str) -> SortKey:
    """The order by a measure without a column. An inner join: SQLite would read an outer one from
    its first pair to its last, and sort them."""
    of_measure = PairNumber.dataset_id == dataset_id, PairNumber.measure == measure
    return SortKey(
        PairNumber.value.expression,
        PairNumber.pair_id.expression,
        ~has_number(measure),
        (*of_measure, PairNumber.pair_id == Pair.id),
    )


def has_number(measure: str) -> ColumnElement[bool]:
    """Condition: the measure, which has no column, gives the pair a number."""
    of_pair = (PairNumber.pair_id == Pair.id, PairNumber.measure == measure)
    return exists().where(*of_pair).correlate(Pair)


def within(value: ColumnElement[Any], range: Range) -> list[ColumnElement[bool]]:
    """Conditions: the value is in the range."""
    conditions = []
    if range.minimum is not None:
        conditions.append(value >= range.minimum)
    if range.maximum is not None:
        conditions.append(value <= range.maximum)
    return conditions


def has_number_within(dataset_id: int, range: Range) -> list[ColumnElement[bool]]:
    """Conditions: the number that a measure without a column gives the pair is in the range. They
    are read from the index once, which is faster for many pairs than to look up that of each."""
    bounds = within(PairNumber.value.expression, range)
    if not bounds:
        return []
    of_measure = PairNumber.dataset_id == dataset_id, PairNumber.measure == range.column
    pairs = select(PairNumber.pair_id).where(*of_measure, *bounds)
    return [Pair.id.in_(pairs.correlate(None))]
