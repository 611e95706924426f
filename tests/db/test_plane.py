"""The plane's cells and points, on both databases."""

import math

import pytest

from db import Store
from db.authors import RULE
from db.queries import plot_queries, signal_queries, specificity_queries
from db.queries.specificity_queries import RetrievalRow
from tests.db.building import add_dataset, decide, set_probabilities, start_run


def test_cells_contain_every_scored_pair_once(store: Store) -> None:
    dataset, ids = add_dataset(store, 6)
    places = [(0.0, 0.0), (0.99, 1.0), (1.0, 1.0), (0.25, 0.5), (0.2499, 0.74), (None, 0.5)]
    set_probabilities(store, ids, [p for p, _ in places])
    with store.writing() as session:
        signal_queries.save_icc(session, {i: icc for i, (_, icc) in zip(ids, places, strict=True)})
    decide(store, ids[3])
    decide(store, ids[0], author=RULE + "all")
    with store.reading() as session:
        cells = plot_queries.grid(session, dataset, 4)
        points = plot_queries.sample(session, dataset, 3)
        decided = list(plot_queries.decided_points(session, dataset))
    assert {(c.p_error, c.up): (c.pairs, c.undecided) for c in cells} == {
        (0, 0): (1, 0), (3, 3): (2, 2), (1, 2): (1, 0), (0, 2): (1, 1),
    }  # fmt: skip
    assert len(points) == 3
    assert decided == [(pytest.approx(0.25), pytest.approx(0.5), None, "drop")]


def test_the_vertical_axis_may_be_the_share_given_by_specificity(store: Store) -> None:
    dataset, ids = add_dataset(store, 5)
    run = start_run(store, dataset)
    set_probabilities(store, ids, [0.1] * 5)
    shares = [0.01, 0.25, 0.2499, 1.0]
    with store.writing() as session:
        specificity_queries.save_retrievals(
            session,
            [
                RetrievalRow(i, run, math.log(share), 1, 2, 0.5, ())
                for i, share in zip(ids, shares, strict=False)
            ],
        )
        signal_queries.save_icc(session, dict.fromkeys(ids, 0.5))
    with store.reading() as session:
        cells = plot_queries.grid(session, dataset, 4, "specificity")
        points = plot_queries.sample(session, dataset, 9)
    assert {(c.p_error, c.up): c.pairs for c in cells} == {(0, 0): 2, (0, 1): 1, (0, 3): 1}
    assert {point[0]: point[3] for point in points} == {
        i: None if share is None else pytest.approx(math.log(share))
        for i, share in zip(ids, [*shares, None], strict=True)
    }
