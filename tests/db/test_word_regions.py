"""Regions of words in the store: added to those of their pair, on SQLite and on PostgreSQL."""

from db import Store
from db.queries import region_queries
from db.queries.region_queries import RegionRow
from tests.db.building import add_dataset, start_run

DOG = RegionRow(2, 5, (0.0, 12.0, 96.0, 60.0), 1.5)
ABSENT = RegionRow(9, 12, None, -0.25)


def test_a_words_region_is_replaced_and_others_stay(store: Store) -> None:
    dataset, ids = add_dataset(store, 2)
    run = start_run(store, dataset, kind=region_queries.KIND)
    moved = RegionRow(2, 5, (1.0, 2.0, 3.0, 4.0), 0.5)
    for rows in ([ABSENT, DOG], [moved], []):
        with store.writing() as session:
            region_queries.add_regions(session, run, {ids[0]: rows})
    with store.reading() as session:
        assert region_queries.of_run(session, run, ids) == {ids[0]: (moved, ABSENT)}
        assert region_queries.of_dataset(session, dataset, ids) == {ids[0]: (moved, ABSENT)}
        assert region_queries.of_dataset(session, dataset + 1, ids) == {}
