"""The part of a picture that speaks most for some words, as a box."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.regions.part_maps import PartMap, part_maps
from backend.engine.scoring.protocol import BoolArray, Box, Scorer

IntArray = NDArray[np.int64]

#: Changes whenever regions do.
VERSION = 1
#: Words whose support is less have no region: nothing in the picture speaks for them.
LEAST = -0.8
#: Share of the strongest part's weight that the other parts of a region have at least.
SHARE = 0.2


@dataclass(frozen=True)
class Region:
    """`box`: in pixels of the upright picture; None: nothing in the picture speaks for the words.
    `weight`: what they add to the match of their phrase (log-odds)."""

    box: Box | None
    weight: float


def regions_of(
    scorer: Scorer, image: Image.Image, caption: str, spans: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Region]:
    """The regions of these spans, in characters of the caption; without those of which the model
    reads no word. Raises ModelMismatch for a scorer that sees no parts."""
    parsed = Caption.parse(caption)
    readable = range(min(len(parsed), scorer.reader.words_read(caption)))
    words_of = {
        (start, end): [
            i for i in readable if parsed.spans[i][0] < end and start < parsed.spans[i][1]
        ]
        for start, end in spans
    }
    words_of = {span: words for span, words in words_of.items() if words}
    maps = part_maps(scorer, image, parsed, list(words_of.values()))
    return {span: region_of(of_span) for span, of_span in zip(words_of, maps, strict=True)}


def region_of(of_words: PartMap) -> Region:
    """The largest connected part of the map where weights reach SHARE of the largest; no box if the
    words' support is less than LEAST, or no part speaks for them."""
    weights, support = of_words.weights, of_words.support
    peak = float(weights.max())
    if support < LEAST or peak <= 0:
        return Region(None, support)
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
    return Region(box, support)


def _largest_part(mask: BoolArray) -> tuple[IntArray, IntArray]:
    """Rows and columns of the most cells of `mask` that touch each other by a side."""
    from scipy.ndimage import label

    parts, _ = label(mask)
    largest = int(np.bincount(parts[mask]).argmax())
    rows, columns = np.nonzero(parts == largest)
    return rows, columns
