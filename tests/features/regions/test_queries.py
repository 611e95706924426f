"""Regions of words in the store: added to those of their pair, on SQLite and on PostgreSQL."""

from backend.features.regions import queries
from backend.features.regions.queries import RegionRow
from backend.store import computed_tables
from db import Store
from db.queries.change_queries import Revision, revise_pairs
from db.queries.pair_queries import NewPair
from tests.db.building import add_dataset, start_run

DOG = RegionRow(2, 5, (0.0, 12.0, 96.0, 60.0), 1.5)
ABSENT = RegionRow(9, 12, None, -0.25)


def test_a_words_region_is_replaced_and_others_stay(store: Store) -> None:
    dataset, ids = add_dataset(store, 2)
    run = start_run(store, dataset, kind=queries.KIND)
    moved = RegionRow(2, 5, (1.0, 2.0, 3.0, 4.0), 0.5)
    for rows in ([ABSENT, DOG], [moved], []):
        with store.writing() as session:
            queries.add_regions(session, run, {ids[0]: rows})
    with store.reading() as session:
        assert queries.of_run(session, run, ids) == {ids[0]: (moved, ABSENT)}
        assert queries.of_dataset(session, dataset, ids) == {ids[0]: (moved, ABSENT)}
        assert queries.of_dataset(session, dataset + 1, ids) == {}


def test_a_new_caption_or_picture_has_no_regions_yet(store: Store) -> None:
    """Those of others stay."""
    dataset, ids = add_dataset(store, 3)
    run = start_run(store, dataset, kind=queries.KIND)
    with store.writing() as session:
        queries.add_regions(session, run, {pair: [DOG] for pair in ids})
        row = NewPair("photo-0", "images/0.jpg", "another caption")
        other = NewPair("photo-1", "images/other.jpg", "a caption")
        revisions = [Revision(ids[0], row, True, "same"), Revision(ids[1], other, False, "other")]
        revise_pairs(session, revisions, computed_tables(session))
    with store.reading() as session:
        assert list(queries.of_run(session, run, ids)) == ids[2:]
