"""The part of a picture that speaks most for some words, as a box."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backend.engine.regions.part_maps import PartMap
from backend.engine.scoring.protocol import BoolArray, Box

IntArray = NDArray[np.int64]

#: A word whose strongest patch weighs less than this (log-odds) has no region.
LEAST = 0.5
#: Share of the strongest patch's weight that the other patches of a region have at least.
SHARE = 0.6


@dataclass(frozen=True)
class Region:
    """`box`: in pixels of the upright picture; `weight`: by how much the words' support falls
    without the strongest part of it (log-odds)."""

    box: Box
    weight: float


def region_of(of_words: PartMap) -> Region | None:
    """The largest connected part of the map where weights reach SHARE of the strongest patch's.

    None if no patch weighs LEAST: nothing in the picture speaks for these words.
    """
    weights = of_words.weights
    peak = float(weights.max())
    if not peak >= LEAST:
        return None
    rows, columns = _largest_part(weights >= SHARE * peak)
    left, top, right, bottom = of_words.field
    down, across = (bottom - top) / weights.shape[0], (right - left) / weights.shape[1]
    width, height = of_words.size
    box = (
        max(0.0, left + across * int(columns.min())),
        max(0.0, top + down * int(rows.min())),
        min(float(width), left + across * (int(columns.max()) + 1)),
        min(float(height), top + down * (int(rows.max()) + 1)),
    )
    return Region(box, peak)


def _largest_part(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Rows and columns of the most cells of `mask` that touch each other by a side."""
    from scipy.ndimage import label

    parts, _ = label(mask)
    largest = int(np.bincount(parts[mask]).argmax())
    rows, columns = np.nonzero(parts == largest)
    return rows, columns
