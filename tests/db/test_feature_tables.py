"""Tables of features beside the program's: joined, created, kept without their feature, and empty
of what is deleted."""

from collections.abc import Iterator

import pytest
from sqlalchemy import (
    Column,
    ForeignKey,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import NoReferencedTableError

from db import Store, feature_tables
from db.models import Dataset, Pair
from db.queries import change_queries, dataset_queries
from db.queries.change_queries import Revision
from db.queries.pair_queries import NewPair
from tests.db.building import add_dataset


def tables_of(name: str = "moods") -> MetaData:
    """One of datasets, and one of pairs that refers to it."""
    tables = feature_tables.new_tables()
    parent = Table(
        name, tables,
        Column("id", Integer, primary_key=True),
        Column("dataset_id", ForeignKey(Dataset.id), nullable=False),
    )  # fmt: skip
    Table(
        f"{name}_of_pairs", tables,
        Column("mood_id", ForeignKey(parent.c.id), primary_key=True),
        Column("pair_id", ForeignKey(Pair.id), primary_key=True),
        Column("mood", Text),
    )  # fmt: skip
    return tables


def with_column(name: str, column: Column[int]) -> MetaData:
    tables = feature_tables.new_tables()
    Table(name, tables, column)
    return tables


@pytest.fixture
def tables(store: Store) -> Iterator[MetaData]:
    tables = tables_of()
    feature_tables.create_missing(store, tables)
    yield tables
    with store.writing() as session:
        tables.drop_all(session.connection())


def fill(store: Store, tables: MetaData, mood: int, size: int = 2) -> tuple[int, list[int]]:
    """A dataset of which the feature knows something."""
    dataset, pairs = add_dataset(store, size, f"photos {mood}")
    with store.writing() as session:
        session.execute(insert(tables.tables["moods"]).values(id=mood, dataset_id=dataset))
        rows = [{"mood_id": mood, "pair_id": pair, "mood": "calm"} for pair in pairs]
        session.execute(insert(tables.tables["moods_of_pairs"]), rows)
    return dataset, pairs


def sizes(store: Store, tables: MetaData) -> dict[str, int]:
    with store.reading() as session:
        return {
            name: session.scalar(select(func.count()).select_from(table)) or 0
            for name, table in tables.tables.items()
        }


@pytest.mark.parametrize(
    "tables",
    [
        with_column("pairs", Column("pair_id", ForeignKey(Pair.id), primary_key=True)),
        with_column("moods", Column("pair_id", ForeignKey(Pair.id), primary_key=True)),
        with_column("alone", Column("pair_id", Integer, primary_key=True)),
        with_column("other", Column("pair", ForeignKey(Pair.id), primary_key=True)),
        with_column("unbound", Column("pair_id", ForeignKey("pairs.id"), primary_key=True)),
    ],
    ids=["the program's name", "another feature's name", "no foreign key", "another column",
         "a foreign key by name"],
)  # fmt: skip
def test_tables_that_cannot_be_are_refused_and_take_no_name(tables: MetaData) -> None:
    join = feature_tables.joining()
    join(tables_of())
    for _ in range(2):
        with pytest.raises((ValueError, NoReferencedTableError)):
            join(tables)
    join(tables_of("other_moods"))


def test_they_are_created_once_and_rows_stay(store: Store, tables: MetaData) -> None:
    fill(store, tables, 1)
    feature_tables.create_missing(store, tables)
    assert sizes(store, tables) == {"moods": 1, "moods_of_pairs": 2}
    with store.reading() as session:
        assert feature_tables.missing_columns(session, tables) == []


def test_rows_go_with_their_dataset_whether_or_not_their_feature_is_there(
    store: Store, tables: MetaData
) -> None:
    first, _ = fill(store, tables, 1)
    fill(store, tables, 2)
    with store.reading() as session:
        of_others = set(feature_tables.unknown_tables(session, [tables]))
        unknown = set(feature_tables.unknown_tables(session, []))
        assert unknown - of_others == {"moods", "moods_of_pairs"}
    with store.writing() as session:
        dataset_queries.delete_dataset(session, first)
    assert sizes(store, tables) == {"moods": 1, "moods_of_pairs": 2}


def test_a_source_that_changes_leaves_them_alone(store: Store, tables: MetaData) -> None:
    _, (pair, _) = fill(store, tables, 1)
    row = NewPair("photo-0", "images/other.jpg", "another caption")
    with store.writing() as session:
        change_queries.revise_pairs(session, [Revision(pair, row, True, "other")], [])
    assert sizes(store, tables) == {"moods": 1, "moods_of_pairs": 2}


def test_tables_of_other_programs_are_neither_told_nor_emptied(store: Store) -> None:
    dataset, _ = add_dataset(store, 1)
    with store.writing() as session:
        session.execute(text("CREATE TABLE theirs (dataset_id INTEGER)"))
        session.execute(text(f"INSERT INTO theirs VALUES ({dataset})"))
    try:
        with store.writing() as session:
            assert "theirs" not in feature_tables.unknown_tables(session, [])
            dataset_queries.delete_dataset(session, dataset)
            assert session.scalar(text("SELECT count(*) FROM theirs")) == 1
    finally:
        with store.writing() as session:
            session.execute(text("DROP TABLE theirs"))


def test_columns_that_another_version_lacked_are_told(store: Store, tables: MetaData) -> None:
    newer = tables_of()
    newer.tables["moods"].append_column(Column("strength", Integer))
    with store.reading() as session:
        assert feature_tables.missing_columns(session, newer) == ["moods.strength"]
