"""The plane's cells and points, on both databases."""

import math

import pytest

from backend.features.picture_map import queries
from db import Store
from db.authors import RULE
from db.queries import plot_queries, signal_queries
from db.queries.statements import set_columns
from tests.db.building import add_dataset, decide, set_probabilities


def test_every_scored_pair_has_a_place(store: Store) -> None:
    dataset, ids = add_dataset(store, 4)
    places = [(0.0, 0.0), (0.99, 1.0), (0.25, 0.5), (None, 0.5)]
    set_probabilities(store, ids, [p for p, _ in places])
    with store.writing() as session:
        signal_queries.save_icc(session, {i: icc for i, (_, icc) in zip(ids, places, strict=True)})
    decide(store, ids[2])
    decide(store, ids[0], author=RULE + "all")
    with store.reading() as session:
        points = list(queries.by_scores(session, dataset))
        decided = list(plot_queries.decided_points(session, dataset))
    assert points == [
        (i, pytest.approx(p), pytest.approx(icc), pytest.approx(p), pytest.approx(icc), verdict)
        for i, (p, icc), verdict in zip(ids, places[:3], ("drop", None, "drop"), strict=False)
    ]
    assert decided == [(pytest.approx(0.25), pytest.approx(0.5), None, "drop")]


def test_upwards_may_be_specificity(store: Store) -> None:
    dataset, ids = add_dataset(store, 3)
    set_probabilities(store, ids, [0.1] * 3)
    logs = [math.log(0.01), math.log(0.25)]
    with store.writing() as session:
        set_columns(session, {i: {"specificity": log} for i, log in zip(ids, logs, strict=False)})
        signal_queries.save_icc(session, dict.fromkeys(ids, 0.5))
    with store.reading() as session:
        points = list(queries.by_scores(session, dataset, "specificity"))
    assert [point[:3] for point in points] == [
        (i, pytest.approx(0.1), pytest.approx(log)) for i, log in zip(ids, logs, strict=False)
    ]
