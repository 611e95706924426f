"""The map: similar pictures lie close together, whether laid out or placed among landmarks."""

import numpy as np
import pytest
from numpy.typing import NDArray

from backend.engine.unit_vectors import unit
from backend.features.picture_map.layout import layout


def clusters(count: int, kinds: int = 4, seed: int = 3) -> tuple[NDArray[np.float32], NDArray]:
    """Unit vectors around a few centres, and the centre of each."""
    rng = np.random.default_rng(seed)
    centres, kind = rng.normal(size=(kinds, 24)), rng.integers(0, kinds, count)
    return unit(centres[kind] + 0.15 * rng.normal(size=(count, 24))), kind


def share_next_to_same_kind(places: NDArray[np.float64], kind: NDArray) -> float:
    """The share of pictures whose nearest neighbour on the map is of the same kind."""
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    return float((kind[distances.argmin(axis=1)] == kind).mean())


def test_similar_pictures_lie_close_together() -> None:
    vectors, kind = clusters(240)
    steps: list[tuple[int, int]] = []
    places = layout(240, lambda rows: vectors[rows], lambda d, t, m: steps.append((d, t)))
    assert places.shape == (240, 2)
    assert places.min() >= 0
    assert places.max() <= 1
    assert np.ptp(places, axis=0).max() > 0.9  # the square is used
    assert share_next_to_same_kind(places, kind) > 0.98
    assert steps == sorted(steps)
    assert len({total for _, total in steps}) == 1
    assert len(steps) > 10


def test_others_are_placed_among_the_landmarks() -> None:
    vectors, kind = clusters(400)
    read: list[int] = []

    def some(rows: NDArray[np.int64]) -> NDArray[np.float32]:
        read.append(len(rows))
        return vectors[rows]

    places = layout(400, some, landmarks=120)
    assert share_next_to_same_kind(places, kind) > 0.98
    assert read[0] == 120
    assert sum(read) == 400


@pytest.mark.parametrize("count", [0, 1, 2, 5, 19, 20, 23])
def test_few_pictures_are_laid_out_too(count: int) -> None:
    vectors, _ = clusters(max(count, 1))
    places = layout(count, lambda rows: vectors[rows])
    assert places.shape == (count, 2)
    assert np.isfinite(places).all()
    assert count < 2 or np.ptp(places, axis=0).max() > 0.9


@pytest.mark.parametrize("count", [4, 60])
def test_copies_of_one_picture_lie_in_the_middle(count: int) -> None:
    vectors = np.tile(clusters(1)[0], (count, 1))
    np.testing.assert_allclose(layout(count, lambda rows: vectors[rows]), 0.5, atol=1e-6)
