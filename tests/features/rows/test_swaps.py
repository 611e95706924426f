"""Captions that have changed places are told from captions that are merely wrong."""

import numpy as np
import pytest

from backend.features.rows.alignment import band_of, centre, measure
from backend.features.rows.swaps import exchanges_of
from tests.features.rows.pairs import DrawnPairs

ROWS, SWAPS = 600, 30


def draw(seed: int, swaps: int, wrong: float) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """The swaps of a file whose two captions are right, and those that are pairs; a caption is more
    like its own picture than like others, but not by much."""
    drawn = DrawnPairs(ROWS, seed, noise=1.3)
    pairs = drawn.rng.permutation(ROWS)[: 2 * swaps].reshape(-1, 2)
    order = np.arange(ROWS)
    order[pairs] = order[pairs[:, ::-1]]
    drawn.move(order.tolist())
    wrong_rows = drawn.rng.choice(ROWS, int(wrong * ROWS), replace=False)
    drawn.make_wrong(wrong_rows.tolist())
    captions, pictures = centre(drawn.encode(drawn.captions)), centre(drawn.pictures)
    likenesses = measure(band_of(captions, pictures))
    planted = {
        (min(pair), max(pair)) for pair in pairs.tolist() if not np.isin(pair, wrong_rows).any()
    }
    swaps_found = exchanges_of(captions, pictures, likenesses, range(ROWS)).swaps
    return planted, {(swap.first, swap.second) for swap in swaps_found}


@pytest.mark.parametrize("wrong", [0, 0.2])
def test_most_swaps_are_found_and_few_others(wrong: float) -> None:
    right = planted_count = count = 0
    for seed in range(4):
        planted, pairs = draw(seed, SWAPS, wrong)
        right += len(planted & pairs)
        planted_count += len(planted)
        count += len(pairs)
    assert right >= 0.6 * planted_count
    assert right >= 0.95 * count


@pytest.mark.parametrize("wrong", [0, 0.2, 0.5])
def test_wrong_captions_are_no_swaps(wrong: float) -> None:
    assert not [draw(seed, 0, wrong)[1] for seed in range(4) if draw(seed, 0, wrong)[1]]


def test_no_row_is_part_of_two() -> None:
    for seed in range(4):
        rows = [row for pair in draw(seed, SWAPS, 0.2)[1] for row in pair]
        assert len(rows) == len(set(rows))
