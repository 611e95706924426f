"""Pairs by two scores at once (probability of error, and concreteness or specificity), and
positions of pictures on the map of their dataset.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Integer,
    and_,
    case,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from db.models import MapPlace, Pair
from db.queries.blind_review import by_a_person, judged, verdict_seen
from db.queries.rankings import p_error_of
from db.queries.statements import (
    check_number,
    in_dataset,
    replace_rows,
)

#: Corners of a polygon in the unit square.
Corners = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class PlaceRow:
    """See `db.models.MapPlace`."""

    pair_id: int
    x: float
    y: float


def replace_places(session: Session, dataset_id: int, rows: Sequence[PlaceRow]) -> None:
    """Store the dataset's map; replaces the previous one."""
    for row in rows:
        check_number(row.x, "a place on the map")
        check_number(row.y, "a place on the map")
    replace_rows(session, dataset_id, MapPlace, [vars(row) for row in rows])


def points(
    session: Session, dataset_id: int
) -> Iterator[tuple[int, float, float, float | None, float | None, str | None]]:
    """(pair, x, y, p_error, icc, judgement) of every pair on the map, in import order."""
    p_error, verdict = p_error_of(session, dataset_id), verdict_seen(session, dataset_id)
    rows = session.execute(
        select(MapPlace.pair_id, MapPlace.x, MapPlace.y, p_error, Pair.icc, judged(verdict))
        .join(Pair, Pair.id == MapPlace.pair_id)
        .where(in_dataset(dataset_id))
        .order_by(MapPlace.pair_id)
        .execution_options(yield_per=5000)
    )
    for row in rows:
        yield row.tuple()


def is_inside(corners: Corners) -> ColumnElement[bool]:
    """Condition: a pair's position is inside a polygon (ray casting: a ray to the right crosses the
    border an odd number of times). Raises ValueError if all corners have the same height."""
    crossings: ColumnElement[int] | None = None
    for (x1, y1), (x2, y2) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if y1 == y2:
            continue  # parallel to the ray: no crossing
        border = x1 + (MapPlace.y - y1) * ((x2 - x1) / (y2 - y1))
        crosses = and_(MapPlace.y >= min(y1, y2), MapPlace.y < max(y1, y2), MapPlace.x < border)
        term = case((crosses, 1), else_=0)
        crossings = term if crossings is None else crossings + term
    if crossings is None:
        raise ValueError("a region that is a line has no inside")
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    inside = select(MapPlace.pair_id).where(
        MapPlace.x.between(min(xs), max(xs)), MapPlace.y.between(min(ys), max(ys)),
        crossings % 2 == 1,
    )  # fmt: skip
    return Pair.id.in_(inside)


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
    conditions = (in_dataset(dataset_id), p_error.is_not(None), column.is_not(None))
    # Grouped by position: PostgreSQL treats equal expressions with parameters as different.
    rows = session.execute(
        select(across, upwards, pairs, pairs - decided_pairs)
        .where(*conditions)
        .group_by(literal_column("1"), literal_column("2"))
    )
    return [Cell(*(int(value) for value in row)) for row in rows]


def sample(
    session: Session, dataset_id: int, limit: int
) -> list[tuple[int, float, float, float | None, float | None, str | None]]:
    """(pair, p_error, icc, specificity, support, judgement) of pairs sampled at random, the same
    ones every time."""
    p_error, verdict = p_error_of(session, dataset_id), verdict_seen(session, dataset_id)
    rows = session.execute(
        select(Pair.id, p_error, Pair.icc, Pair.specificity, Pair.support, judged(verdict))
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
    verdict = verdict_seen(session, dataset_id)
    rows = session.execute(
        select(p_error_of(session, dataset_id), Pair.icc, Pair.specificity, judged(verdict))
        .where(in_dataset(dataset_id), ~verdict.is_undecided, by_a_person(verdict))
        .execution_options(yield_per=2000)
    )
    for p_error, icc, specificity, decision in rows:
        yield p_error, icc, specificity, str(decision)
