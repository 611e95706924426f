"""The plane's cells and points, on both databases."""

import pytest

from db import Store
from db.authors import RULE
from db.queries import concreteness, plane, verdicts
from tests.db.building import add_dataset, set_probabilities


def test_cells_hold_every_scored_pair_once(store: Store) -> None:
    dataset, ids = add_dataset(store, 6)
    places = [(0.0, 0.0), (0.99, 1.0), (1.0, 1.0), (0.25, 0.5), (0.2499, 0.74), (None, 0.5)]
    set_probabilities(store, ids, [p for p, _ in places])
    with store.writing() as session:
        concreteness.save_icc(session, {i: icc for i, (_, icc) in zip(ids, places, strict=True)})
    with store.writing() as session:
        verdicts.add_verdict(session, ids[3], 0, "drop", author="ada")
    with store.writing() as session:
        verdicts.add_verdict(session, ids[0], 0, "drop", author=RULE + "all")
    with store.reading() as session:
        cells = plane.grid(session, dataset, 4)
        points = plane.sample(session, dataset, 3)
        said = list(plane.decided(session, dataset))
    assert {(c.p_error, c.icc): (c.pairs, c.undecided) for c in cells} == {
        (0, 0): (1, 0), (3, 3): (2, 2), (1, 2): (1, 0), (0, 2): (1, 1),
    }  # fmt: skip
    assert len(points) == 3
    assert said == [(pytest.approx(0.25), pytest.approx(0.5), "drop")]
