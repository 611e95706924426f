"""The numbers of pairs as columns of a query, wherever their measures store them."""

from typing import Any

from sqlalchemy import ColumnElement, select

from db.measures import MEASURES
from db.models import Pair, PairNumber
from db.queries.ranking_queries import P_ERROR, PROBABILITIES


def number_column(name: str) -> ColumnElement[Any]:
    """The number that the measure of this name gives pairs of any datasets. Only those that are
    columns of `pairs` have an index."""
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
