from collections import Counter

import pytest

from db import Store
from db.errors import MissingRow, UnstorableText
from db.queries import pair_queries
from db.queries.pair_queries import NewPair
from tests.db.building import add_dataset, decide, watching

CAPTIONS = [
    "A dog, running.",
    "",
    "  spaces  kept\t\n",
    "<b>bold</b><script>alert(1)</script>",
    "${7*6} {{7*6}} %s '; DROP TABLE pairs; --",
    "🦊🏳️‍🌈 عربي 日本語 \U0001f9d1\u200d\U0001f680",
    "\ufeffmark \u2028line \x07bell \x7f",
    "long " * 20_000,
]


def test_a_pair_round_trips_byte_for_byte(store: Store) -> None:
    dataset_id, _ = add_dataset(store, 0)
    rows = [
        NewPair(f"id-{i}", f"images/{i}.jpg", caption, "train", "m.jsonl", i, {"n": i, "é": [None]})
        for i, caption in enumerate(CAPTIONS)
    ]
    with store.writing() as session:
        assert pair_queries.add_pairs(session, dataset_id, rows) == len(rows)
    with store.reading() as session:
        listed = pair_queries.pairs_after(session, dataset_id)
        assert [stored.external_id for stored in listed] == [f"id-{i}" for i in range(len(rows))]
        for i, (row, result) in enumerate(zip(rows, listed, strict=True)):
            assert result == pair_queries.get_pair(session, result.id)
            assert result.caption.encode() == row.caption.encode()
            assert (result.split, result.source_file, result.source_row) == ("train", "m.jsonl", i)
            assert result.extra == row.extra
            assert (result.s_0, result.p_error, result.icc, result.decision) == (None,) * 4
            assert (result.verdict_version, result.truncated) == (0, False)


def test_adding_again_adds_only_new_pairs(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 3)
    rows = [NewPair(f"photo-{i}", "other.jpg", "other") for i in range(1, 5)]
    with store.writing() as session:
        assert pair_queries.add_pairs(session, dataset_id, rows) == 2
        assert pair_queries.get_pair(session, ids[1]).caption == "photo number 1"
        assert pair_queries.add_pairs(session, dataset_id, rows) == 0
        assert pair_queries.add_pairs(session, dataset_id, []) == 0


def test_an_id_is_unique_within_its_dataset(store: Store) -> None:
    (first, _), (second, _) = add_dataset(store, 0, "first"), add_dataset(store, 3, "second")
    with store.writing() as session:
        rows = [NewPair("photo-0", "a.jpg", "first"), NewPair("photo-0", "b.jpg", "second")]
        assert pair_queries.add_pairs(session, first, rows) == 1
        assert [pair.caption for pair in pair_queries.pairs_after(session, first)] == ["first"]
        assert pair_queries.counts(session, second).total == 3


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (NewPair("a", "a.jpg", "a\x00b", source_file="m.csv", source_row=8), "m.csv, row 8.*NUL"),
        (NewPair("a", "a.jpg", "\ud83d"), "half a surrogate pair"),
        (NewPair("a" * 601, "a.jpg", "a"), "601 characters long; at most 600"),
        (NewPair("a", "a.jpg", "a", split="s" * 256), "256 characters"),
    ],
)
def test_unstorable_text_is_refused_before_anything_is_written(
    store: Store, row: NewPair, message: str
) -> None:
    dataset_id, _ = add_dataset(store, 0)
    with store.writing() as session:
        with pytest.raises(UnstorableText, match=message):
            pair_queries.add_pairs(session, dataset_id, [NewPair("good", "g.jpg", "good"), row])
        assert pair_queries.counts(session, dataset_id).total == 0


def test_a_missing_pair_is_reported(store: Store) -> None:
    add_dataset(store, 1)
    with store.reading() as session, pytest.raises(MissingRow, match="no pair 99"):
        pair_queries.get_pair(session, 99)


def test_iteration_returns_every_pair_once_in_order(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 25)
    add_dataset(store, 5, "another")
    with store.reading() as session:
        for batch in (1, 7, 25, 1000):
            walked = [
                pair.id for pair in pair_queries.iterate_pairs(session, dataset_id, batch=batch)
            ]
            assert walked == ids
        assert [
            pair.id for pair in pair_queries.pairs_after(session, dataset_id, ids[9], 3)
        ] == ids[10:13]


def test_counts_include_what_curators_decided(store: Store) -> None:
    dataset_id, ids = add_dataset(store, 10)
    given = ["correct", "correct", "drop", "correction", "abstract", "unsure"]
    for pair_id, decision in zip(ids, given, strict=False):
        decide(store, pair_id, decision, caption="better" if decision == "correction" else None)
    with store.reading() as session:
        counts = pair_queries.counts(session, dataset_id)
    assert (counts.total, counts.scored, counts.reviewed, counts.errors_found) == (10, 0, 6, 2)
    assert counts.by_decision == Counter(given)


def test_many_pairs_are_added_with_few_statements(sqlite_store: Store) -> None:
    dataset_id, _ = add_dataset(sqlite_store, 0)
    rows = [NewPair(f"photo-{i}", f"images/{i}.jpg", f"photo number {i}") for i in range(5000)]
    with watching(sqlite_store) as statements, sqlite_store.writing() as session:
        pair_queries.add_pairs(session, dataset_id, rows)
    assert len(statements) <= len(rows) / 20


def test_splits_are_listed_by_name_up_to_a_limit(store: Store) -> None:
    (dataset_id, _), (other, _) = add_dataset(store, 2, "without"), add_dataset(store, 0, "other")
    with store.writing() as session:
        assert pair_queries.first_splits(session, dataset_id, 9) == []
        assert pair_queries.has_split(session, dataset_id, "")
        rows = [NewPair(f"i{n}", "a.jpg", "a", f"part {n % 4}") for n in range(12)]
        pair_queries.add_pairs(session, dataset_id, rows)
        assert pair_queries.first_splits(session, dataset_id, 9) == [f"part {n}" for n in range(4)]
        assert pair_queries.first_splits(session, dataset_id, 2) == ["part 0", "part 1"]
        assert pair_queries.has_split(session, dataset_id, "part 3")
        assert not pair_queries.has_split(session, dataset_id, "part 4")
        pair_queries.add_pairs(session, other, rows)
        assert pair_queries.first_splits(session, other, 1) == ["part 0"]
        assert not pair_queries.has_split(session, other, "")
