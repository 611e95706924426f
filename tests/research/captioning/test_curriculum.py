"""BagCurri: the published proportions, and bags that share no picture within an epoch."""

from collections import Counter

import numpy as np
import pytest

from backend.engine.unit_vectors import unit
from backend.errors import SettingsError
from backend.features.specificity.picture_bags import nearest
from research.captioning.curriculum import RANDOM, Batch, bag_curriculum, batches


def neighbours(count: int = 120) -> np.ndarray:
    return nearest(unit(np.random.default_rng(0).normal(size=(count, 6))), 60)[0]


def test_bag_sizes_grow_in_the_published_proportions() -> None:
    sizes = bag_curriculum(100)
    assert Counter(sizes) == {2: 15, 3: 25, 5: 10, 7: 10, 10: 10, 15: 15, 20: 15}
    assert sizes == sorted(sizes)
    for steps in (0, 1, 7, 33, 801):
        assert len(bag_curriculum(steps)) == steps


def test_a_picture_occurs_at_most_once_per_epoch_and_bags_are_disjoint() -> None:
    made = list(batches(neighbours(), 40, bag_curriculum(100), seed=3))
    assert [batch.size for batch in made] == bag_curriculum(100)
    rows_of: dict[int, list[int]] = {}
    for batch in made:
        assert len(batch.bags) == 40 // batch.size
        assert all(len(bag) == batch.size for bag in batch.bags)
        rows_of.setdefault(batch.epoch, []).extend(batch.rows)
    assert all(len(rows) == len(set(rows)) for rows in rows_of.values())
    assert sorted(rows_of) == list(range(max(rows_of) + 1))
    assert len(rows_of) > len(set(bag_curriculum(100))), "several epochs of a size"


def test_each_epoch_forms_new_bags_of_similar_pictures() -> None:
    near = neighbours()
    by_epoch: dict[int, list[Batch]] = {}
    for batch in batches(near, 60, [3] * 6, seed=0):
        by_epoch.setdefault(batch.epoch, []).append(batch)
    first, second = (
        {frozenset(bag) for batch in by_epoch[epoch] for bag in batch.bags} for epoch in (0, 1)
    )
    assert len(first & second) < len(first) / 2
    for batch in by_epoch[0]:
        for query, *others in batch.bags:
            assert set(others) <= set(near[query].tolist())


def test_batches_are_determined_by_arguments_and_seed() -> None:
    sizes = [RANDOM, RANDOM, 2, 2, 5]
    made = list(batches(neighbours(), 30, sizes, seed=1))
    assert made == list(batches(neighbours(), 30, sizes, seed=1))
    assert made != list(batches(neighbours(), 30, sizes, seed=2))
    assert all(len(batch.rows) == 30 for batch in made[:2]), "random batches are full"


def test_impossible_batches_are_refused() -> None:
    near = neighbours()
    with pytest.raises(SettingsError, match="A batch needs 200 pictures; there are 120"):
        list(batches(near, 200, [2], 0))
    with pytest.raises(SettingsError, match="A batch of 10 pictures is too small for a bag of 20"):
        list(batches(near, 10, [20], 0))
    with pytest.raises(SettingsError, match="at most 50 pictures, not 51"):
        list(batches(near, 60, [51], 0))
    # All have the same neighbours: bags run out before a batch is full.
    crowded = np.tile(np.arange(4), (120, 1))
    with pytest.raises(SettingsError, match="their neighbours overlap"):
        list(batches(crowded, 60, [3], 0))
