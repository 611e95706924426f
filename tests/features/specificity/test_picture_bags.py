"""Bags of similar pictures, against a brute-force reference."""

import random

import numpy as np
import pytest

from backend.engine.unit_vectors import NEAR_DUPLICATE, unit
from backend.features.specificity.picture_bags import (
    candidate_bags,
    curated_bags,
    multimodal,
    nearest,
)
from research.bags_and_recall import random_bags, training_bags


def vectors(count: int, width: int = 12, seed: int = 0) -> np.ndarray:
    return unit(np.random.default_rng(seed).normal(size=(count, width)))


def brute_force(m: np.ndarray, z: np.ndarray, size: int) -> list[tuple[tuple[int, ...], float]]:
    m, z = m.astype(float), z.astype(float)
    cosine, twins = m @ m.T, z @ z.T
    candidates = []
    for i in range(len(m)):
        bag = [i]
        for j in sorted(range(len(m)), key=lambda j: (-cosine[i, j], j)):
            if len(bag) < size and j != i and twins[bag, j].max() < NEAR_DUPLICATE:
                bag.append(j)
        if len(bag) == size:
            candidates.append((tuple(bag), float(cosine[i, bag[1:]].mean())))
    chosen: list[tuple[tuple[int, ...], float]] = []
    taken: set[int] = set()
    for members, alpha in sorted(
        candidates, key=lambda candidate: (-candidate[1], candidate[0][0])
    ):
        if not taken & set(members):
            taken |= set(members)
            chosen.append((members, alpha))
    return chosen


@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_curated_bags_equal_the_brute_force_reference(size: int) -> None:
    pictures = vectors(300)
    pictures[10:30] = unit(pictures[:20] + 1e-3 * vectors(20, seed=5))  # near duplicates
    pictures[40] = pictures[41]
    m = multimodal(pictures, vectors(300, seed=1))
    bags = curated_bags(candidate_bags(m, pictures, size))
    expected = brute_force(m, pictures, size)
    assert [bag.members for bag in bags] == [members for members, _ in expected]
    assert [bag.alpha for bag in bags] == pytest.approx([alpha for _, alpha in expected], abs=1e-6)


def test_a_picture_with_hundreds_of_near_duplicates_still_gets_a_bag() -> None:
    twins = unit(np.ones((260, 12)) + 1e-3 * vectors(260))
    pictures = np.vstack([twins, vectors(40, seed=9)])
    bags = candidate_bags(pictures, pictures, 3)
    first = next(bag for bag in bags if bag.members[0] == 0)
    assert all(row >= len(twins) for row in first.members[1:])


def test_near_duplicates_alone_form_no_bag() -> None:
    pictures = unit(np.ones((4, 6)))
    assert candidate_bags(pictures, pictures, 3) == []


@pytest.mark.parametrize("size", [-1, 0, 1, 51])
def test_an_invalid_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"2 to 50 pictures, not {size}"):
        candidate_bags(vectors(9), vectors(9), size)


def test_normalising_gives_both_halves_the_same_weight() -> None:
    m = multimodal([[3.0, 4.0]], [[0.0, 0.1]])
    assert np.allclose(m, [[0.6 / 2**0.5, 0.8 / 2**0.5, 0.0, 1 / 2**0.5]])
    assert np.allclose(multimodal([[0.0, 0.0]], [[1.0, 0.0]])[0, :2], 0)  # no caption, no NaN


def test_nearest_is_exact_and_excludes_the_row_itself() -> None:
    pictures = vectors(64)
    places, cosines = nearest(pictures, 5)
    exact = pictures.astype(float) @ pictures.astype(float).T
    np.fill_diagonal(exact, -2)
    assert (places == np.argsort(-exact, axis=1)[:, :5]).all()
    assert np.allclose(cosines, -np.sort(-exact, axis=1)[:, :5])
    assert nearest(pictures[:1])[0].shape == (1, 0)


def test_training_bags_hold_each_picture_once_and_differ_by_epoch() -> None:
    near, _ = nearest(vectors(200), 50)
    rng = random.Random(4)
    first, second = list(training_bags(near, 5, rng)), list(training_bags(near, 5, rng))
    for epoch in (first, second):
        members = [row for bag in epoch for row in bag]
        assert len(members) == len(set(members)) > 150
        assert all(len(bag) == 5 and set(bag[1:]) <= set(near[bag[0]]) for bag in epoch)
    assert first != second
    assert first == list(training_bags(near, 5, random.Random(4)))


def test_training_bags_take_the_nearest_unused_pictures() -> None:
    near = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [2, 1, 0]])
    (bag,) = list(training_bags(near, 3, random.Random(0)))
    assert list(bag[1:]) == near[bag[0]][:2].tolist()


def test_random_bags_are_disjoint() -> None:
    bags = random_bags(10, 3, random.Random(1))
    assert len(bags) == 3
    assert len({row for bag in bags for row in bag.members}) == 9
    assert bags == random_bags(10, 3, random.Random(1)) != random_bags(10, 3, random.Random(2))
