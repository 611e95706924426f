"""Groups of near duplicates, against a plain loop over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from backend.features.near_duplicates.grouping import group_pictures


def at_angles(*degrees: float) -> NDArray[np.float32]:
    """Unit vectors of the plane; the cosine of two is that of their angle."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def by_plain_loops(vectors: NDArray[np.float32], threshold: float) -> list[list[int]]:
    """The same, picture by picture."""
    groups: list[list[int]] = []
    for row, vector in enumerate(vectors):
        likeness = [float(vector @ vectors[group[0]]) for group in groups]
        if likeness and max(likeness) >= threshold - 1e-6:
            groups[int(np.argmax(likeness))].append(row)
        else:
            groups.append([row])
    return [group for group in groups if len(group) > 1]


def test_a_chain_does_not_join_dissimilar_pictures() -> None:
    # cos 10° = 0.985, cos 20° = 0.940: the ends of the chain are not duplicates.
    (group,) = group_pictures([at_angles(0, 10, 20)], 0.98)
    assert group.members == (0, 1)
    assert group.cosines == pytest.approx((1.0, 0.9848), abs=1e-4)


def test_members_are_sorted_by_similarity_and_the_first_comes_first() -> None:
    (group,) = group_pictures([at_angles(0, 8, 90, 2, 0)], 0.98)
    assert group.members == (0, 4, 3, 1)
    assert list(group.cosines) == sorted(group.cosines, reverse=True)
    assert group.cosines[1] == pytest.approx(1.0)


def test_a_picture_joins_the_nearer_group() -> None:
    groups = group_pictures([at_angles(0, 30, 21, 9)], 0.98)
    assert [group.members for group in groups] == [(0, 3), (1, 2)]


def test_zero_vectors_and_empty_input_form_no_groups() -> None:
    assert group_pictures([], 0.98) == []
    assert group_pictures([np.zeros((3, 4), np.float32)], 0.98) == []


@pytest.mark.parametrize("threshold", [0.5, 1.01, float("nan")])
def test_an_invalid_threshold_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold"):
        group_pictures([at_angles(0, 1)], threshold)


@given(st.integers(1, 40), st.integers(1, 15), st.sampled_from([0.9, 0.98, 1.0]), st.integers(0, 9))
def test_blocks_do_not_change_the_groups(
    count: int, block: int, threshold: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    scattered = at_angles(*(rng.integers(0, 60, count) * 5.0))
    blocks = [scattered[first : first + block] for first in range(0, count, block)]
    groups = group_pictures(iter(blocks), threshold)
    assert [sorted(group.members) for group in groups] == by_plain_loops(scattered, threshold)
    for group in groups:
        kept = scattered[list(group.members)] @ scattered[group.members[0]]
        assert kept.min() >= threshold - 1e-5
