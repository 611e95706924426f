"""Pairs by two scores at once: probability of error, and concreteness or specificity."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Integer, case, cast, func, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.models import Pair
from db.queries.blind_review import verdict_seen
from db.queries.probabilities import p_error_of
from db.queries.statements import by_a_person, in_dataset, judged


@dataclass(frozen=True)
class Cell:
    """Number of pairs in a grid cell; cell indices start at 0 in both directions."""

    p_error: int
    up: int
    pairs: int
    undecided: int


def grid(session: Session, dataset_id: int, cells: int, up: str = "icc") -> list[Cell]:
    """The non-empty cells of a `cells` x `cells` grid over the unit square.

    `up`: the vertical axis, icc or specificity. Specificity, a log-probability, is shown as a
    probability.
    """

    # A cast truncates on SQLite and rounds on PostgreSQL; only the latter always has floor().
    cut = (lambda n: n) if session.get_bind().dialect.name == "sqlite" else func.floor

    def cell_of(column: InstrumentedAttribute[float | None]) -> ColumnElement[int]:
        number = cast(cut(column * cells), Integer)
        return case((number >= cells, cells - 1), else_=number)

    p_error = p_error_of(session, dataset_id)
    across = cell_of(p_error)
    column = Pair.specificity if up == "specificity" else Pair.icc
    upwards = cell_of(column)
    if up == "specificity":
        # Not every SQLite has exp(): the cell borders are converted to logarithms instead.
        borders = [(math.log(n / cells), n - 1) for n in range(1, cells)]
        upwards = case(*((column < edge, cell) for edge, cell in borders), else_=cells - 1)
    pairs = func.count(Pair.id)
    decided_pairs = func.count(verdict_seen(session, dataset_id).decision)
    known = (in_dataset(dataset_id), p_error.is_not(None), column.is_not(None))
    # Grouped by position: PostgreSQL treats equal expressions with parameters as different.
    rows = session.execute(
        select(across, upwards, pairs, pairs - decided_pairs)
        .where(*known)
        .group_by(literal_column("1"), literal_column("2"))
    )
    return [Cell(*(int(value) for value in row)) for row in rows]


def sample(
    session: Session, dataset_id: int, limit: int
) -> list[tuple[int, float, float, float | None, float | None, str | None]]:
    """(pair, p_error, icc, specificity, support, judgement) of pairs sampled at random, the same
    ones every time."""
    p_error, seen = p_error_of(session, dataset_id), verdict_seen(session, dataset_id)
    rows = session.execute(
        select(Pair.id, p_error, Pair.icc, Pair.specificity, Pair.support, judged(seen))
        .where(in_dataset(dataset_id), p_error.is_not(None), Pair.icc.is_not(None))
        .order_by(Pair.random_key, Pair.id)
        .limit(limit)
    )
    return [
        (pair, float(p or 0), float(icc or 0), specificity, support, decision)
        for pair, p, icc, specificity, support, decision in rows
    ]


def decided(
    session: Session, dataset_id: int
) -> Iterator[tuple[float | None, float | None, float | None, str]]:
    """(p_error, icc, specificity, judgement) of every pair that a person has decided."""
    seen = verdict_seen(session, dataset_id)
    rows = session.execute(
        select(p_error_of(session, dataset_id), Pair.icc, Pair.specificity, judged(seen))
        .where(in_dataset(dataset_id), ~seen.is_undecided, by_a_person(seen))
        .execution_options(yield_per=2000)
    )
    for p_error, icc, specificity, decision in rows:
        yield p_error, icc, specificity, str(decision)
