"""The map of a dataset's pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    and_,
    case,
    select,
)
from sqlalchemy.orm import Session

from backend.features.picture_map.tables import MapPlace
from db.models import Pair
from db.queries.blind_review import judgement_of, verdict_seen
from db.queries.ranking_queries import p_error_of
from db.queries.statements import (
    check_number,
    in_dataset,
    replace_rows,
)

#: Corners of a polygon in the unit square.
Corners = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class PlaceRow:
    """See `MapPlace`."""

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
        select(MapPlace.pair_id, MapPlace.x, MapPlace.y, p_error, Pair.icc, judgement_of(verdict))
        .join(Pair, Pair.id == MapPlace.pair_id)
        .where(in_dataset(dataset_id))
        .order_by(MapPlace.pair_id)
        .execution_options(yield_per=5000)
    )
    for row in rows:
        yield row.tuple()


def by_scores(
    session: Session, dataset_id: int, up: str = "icc"
) -> Iterator[tuple[int, float, float, float | None, float | None, str | None]]:
    """As `points`, of every pair that has both numbers: its p_error across, and upwards its icc or
    its specificity (`up`), a logarithm."""
    p_error, verdict = p_error_of(session, dataset_id), verdict_seen(session, dataset_id)
    upwards = Pair.specificity if up == "specificity" else Pair.icc
    rows = session.execute(
        select(Pair.id, p_error, upwards, Pair.icc, judgement_of(verdict))
        .where(in_dataset(dataset_id), p_error.is_not(None), upwards.is_not(None))
        .order_by(Pair.id)
        .execution_options(yield_per=5000)
    )
    for pair, chance, height, icc, judgement in rows:
        yield pair, chance or 0.0, height or 0.0, chance, icc, judgement


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
