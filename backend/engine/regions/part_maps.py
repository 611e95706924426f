"""How much each part of a picture speaks for some words of its caption.

With o the log-odds of s, *support* is o(x, y) − o(x without the words, y): what the words add to
the match. A part of the picture speaks for them by as much as their support falls when the model
does not see that part: a window of patches is left out, at every place in turn. A patch's weight
is that of the window around it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.scoring.protocol import BoolArray, Box, FloatArray, Scorer, SeesParts
from backend.errors import ModelMismatch

#: Side of a window, in parts of the grid's.
WINDOW = 3 / 8


@dataclass(frozen=True)
class PartMap:
    """For one span of a caption; weights are falls of log-odds.

    * `weights`: [rows, columns] of the grid of patches;
    * `support`: what the span adds to the match with the whole picture;
    * `field`: the part of the picture that the grid covers, in its pixels;
    * `size`: the picture's width and height in pixels.
    """

    weights: FloatArray
    support: float
    field: Box
    size: tuple[int, int]


def check_sees_parts(scorer: Scorer) -> SeesParts:
    """The scorer. Raises ModelMismatch if it cannot leave out parts of a picture."""
    if isinstance(scorer, SeesParts):
        return scorer
    raise ModelMismatch(
        f"'{scorer.info.model}' ({scorer.info.kind}) cannot leave out parts of a picture, so it "
        "does not say where in it a word is. BLIP, CLIP and SigLIP can."
    )


def part_maps(
    scorer: Scorer, image: Image.Image, caption: Caption, spans: Sequence[Sequence[int]]
) -> list[PartMap]:
    """A map for each of `spans`, indices of words that the model reads, in one batch for all.

    Raises ModelMismatch for a scorer that sees no parts.
    """
    parts = check_sees_parts(scorer)
    if not spans:
        return []
    views = windows(parts.grid)
    captions = [caption.text, *(caption.without(span) for span in spans)]
    odds = parts.score_views(image, captions, views)
    support = odds[:, :1] - odds[:, 1:]
    falls = support[0] - support[1:]
    field = parts.field_of_view(image.size)
    return [
        PartMap(falls[:, i].reshape(parts.grid), float(support[0, i]), field, image.size)
        for i in range(len(spans))
    ]


def windows(grid: tuple[int, int], share: float = WINDOW) -> BoolArray:
    """Views of a grid, [1 + rows * columns, rows, columns]: the whole, then without the window
    around each patch, by rows. Windows end at the grid's edges.

    >>> windows((2, 2), 1 / 2)[1:].sum((1, 2)).tolist()
    [3, 3, 3, 3]
    """
    rows, columns = np.indices(grid).reshape(2, -1)
    views = [np.ones((1, *grid), np.bool_)]
    reach = [max(1, round(share * side)) // 2 for side in grid]
    down = np.abs(rows[:, None] - np.arange(grid[0])) <= reach[0]
    across = np.abs(columns[:, None] - np.arange(grid[1])) <= reach[1]
    views.append(~(down[:, :, None] & across[:, None, :]))
    return np.concatenate(views)
