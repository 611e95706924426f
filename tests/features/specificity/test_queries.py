"""Specificity of captions: saved with its underlying values, measured once, sampled evenly."""

import math

import pytest

from backend.features.specificity import queries
from backend.features.specificity.queries import RetrievalRow
from db import Store
from db.models import Pair
from db.queries import dataset_queries, pair_queries
from db.queries.pair_queries import NewPair
from tests.db.building import add_dataset, add_pairs, start_run


def test_values_that_are_not_finite_are_refused(store: Store) -> None:
    dataset, ids = add_dataset(store, 1)
    row = RetrievalRow(ids[0], start_run(store, dataset), math.nan, 1, 2, 0.5, ())
    with store.writing() as session, pytest.raises(ValueError, match="specificity of pair"):
        queries.save_retrievals(session, [row])


def test_keeping_only_one_run_does_not_affect_other_datasets(store: Store) -> None:
    dataset, ids = add_dataset(store, 2)
    other, others = add_dataset(store, 1, "others")
    run, second = start_run(store, dataset), start_run(store, dataset, "2")
    with store.writing() as session:
        queries.save_retrievals(
            session, [RetrievalRow(i, run, -1.0, 1, 3, 0.5, ()) for i in (*ids, *others)]
        )
        queries.save_retrievals(session, [RetrievalRow(ids[0], second, -2.0, 1, 3, 0.5, ())])
        queries.keep_only(session, dataset, second)
    with store.reading() as session:
        assert queries.get_retrieval(session, ids[1]) is None
        assert pair_queries.get_pair(session, ids[1]).numbers["specificity"] is None
        assert pair_queries.get_pair(session, ids[0]).numbers["specificity"] == -2.0
        assert queries.get_retrieval(session, others[0]) is not None
    with store.writing() as session:
        dataset_queries.delete_dataset(session, other)


def test_sampling_pictures_is_deterministic_and_without_repetition(store: Store) -> None:
    rows = [NewPair(f"{n}-{k}", f"{n}.jpg", f"{n}") for n in range(30) for k in range(3)]
    dataset, _ = add_pairs(store, "captions", rows)
    with store.reading() as session:
        assert queries.count_pictures(session, dataset) == 30
        every = queries.pictures(session, dataset, 100)
        some = queries.pictures(session, dataset, 7)
    assert len({name for _, name in every}) == len(every) == 30
    assert some == every[:7]
    assert [name for _, name in some] != sorted(name for _, name in some)


def test_hidden_pairs_take_part_in_nothing(store: Store) -> None:
    rows = [NewPair(str(n), "a.jpg", f"A dog {n}.") for n in range(2)]
    dataset, (hidden, other) = add_pairs(store, "captions", rows)
    with store.writing() as session:
        session.get_one(Pair, hidden).hidden = True
    with store.reading() as session:
        assert [pair for pair, _ in queries.pictures(session, dataset, 9)] == [other]
        assert [pair.id for pair in queries.of_picture(session, dataset, "a.jpg")] == [other]
