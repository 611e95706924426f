"""Places on the map, and the pairs of a region, on both databases."""

import random

import pytest

from backend.features.picture_map import queries
from backend.features.picture_map.filter import in_region
from backend.features.picture_map.queries import Corners, PlaceRow
from backend.features.picture_map.regions import Region, region_text
from db import Store
from db.queries import queue_queries
from db.queries.queue_filter import AddedCriterion, QueueFilter
from tests.db.building import add_dataset, set_probabilities

#: A star with dents, a triangle, a bow tie and a box whose sides run along the axes.
REGIONS: tuple[Corners, ...] = (
    ((0.5, 0.95), (0.6, 0.6), (0.95, 0.6), (0.65, 0.4), (0.8, 0.05), (0.5, 0.3), (0.2, 0.05),
     (0.35, 0.4), (0.05, 0.6), (0.4, 0.6)),
    ((0.1, 0.1), (0.9, 0.2), (0.4, 0.8)),
    ((0.1, 0.1), (0.9, 0.9), (0.9, 0.1), (0.1, 0.9)),
    ((0.25, 0.25), (0.75, 0.25), (0.75, 0.5), (0.25, 0.5)),
)  # fmt: skip


def is_inside(x: float, y: float, corners: Corners) -> bool:
    """W. R. Franklin's pnpoly."""
    inside, before = False, corners[-1]
    for corner in corners:
        (x1, y1), (x2, y2) = corner, before
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
        before = corner
    return inside


@pytest.fixture
def placed(store: Store) -> tuple[int, list[PlaceRow]]:
    """Sixty pairs at random places, and a second dataset at the same places."""
    rng = random.Random(5)
    made, ids = add_dataset(store, 61)
    other, others = add_dataset(store, 5, "other")
    rows = [PlaceRow(pair_id, rng.random(), rng.random()) for pair_id in ids[:60]]
    with store.writing() as session:
        queries.replace_places(session, made, [PlaceRow(ids[60], 0.5, 0.5)])
        queries.replace_places(session, made, rows)
        beside = [PlaceRow(pair_id, 0.5, 0.4) for pair_id in others]
        queries.replace_places(session, other, beside)
    set_probabilities(store, ids, [n / 61 for n in range(61)])
    return made, rows


@pytest.mark.parametrize("corners", REGIONS)
def test_a_region_contains_the_same_pairs_as_a_plain_loop(
    store: Store, placed: tuple[int, list[PlaceRow]], corners: Corners
) -> None:
    made, rows = placed
    wanted = {row.pair_id for row in rows if is_inside(row.x, row.y, corners)}
    assert 3 < len(wanted) < 50
    criterion = AddedCriterion(region_text(Region(1, corners)), in_region)
    filter = QueueFilter(made, added=(criterion,))
    with store.reading() as session:
        listed = [row.pair_id for row in queue_queries.page(session, filter, limit=100).rows]
        assert queue_queries.count(session, filter) == len(wanted)
    assert set(listed) == wanted
    assert listed == sorted(listed, reverse=True)  # by probability, like every queue


def test_a_line_is_not_a_region() -> None:
    with pytest.raises(ValueError, match="no inside"):
        queries.is_inside(((0.1, 0.5), (0.5, 0.5), (0.9, 0.5)))
