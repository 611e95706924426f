"""How much each part of a picture speaks for some words of its caption.

The words are asked about in their phrase alone ("a red dog" of "A red dog next to a tree."): in the
whole caption other words speak for the same parts. With o the log-odds of s, a part of the picture
speaks for the phrase by as much as o falls when the model does not see that part. *Support* is what
the words add to their phrase with the whole picture, o(phrase) − o(phrase without the words): it is
low for a thing that is not there.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.english.phrases import whole_phrases
from backend.engine.scoring.protocol import (
    BoolArray,
    Box,
    FloatArray,
    Scorer,
    SeesParts,
    Viewer,
)
from backend.errors import ModelMismatch

#: Rows and columns of a map, of whole patches; fewer where a model has fewer.
SIDE = 8


@dataclass(frozen=True)
class PartMap:
    """For one span of a caption, in log-odds.

    * `weights`: [rows, columns], the fall without each part; None for words whose support alone is
      computed;
    * `support`: what the span adds to its phrase with the whole picture;
    * `field`: the part of the picture that the map covers, in its pixels;
    * `size`: the picture's width and height in pixels.
    """

    weights: FloatArray | None
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
    scorer: Scorer,
    image: Image.Image,
    caption: Caption,
    spans: Sequence[Sequence[int]],
    has_map: Callable[[int, float], bool] = lambda number, support: True,
    view: Viewer | None = None,
) -> list[PartMap]:
    """For each of `spans`, ascending indices of words, its support, and its map unless
    `has_map(number, support)` says that the span of this number needs none. All supports are asked
    for at once, then all maps, which take thirty times as many questions. `view`: the image's
    viewer, if there is one already.

    Raises ModelMismatch for a scorer that sees no parts.
    """
    parts = check_sees_parts(scorer)
    if not spans:
        return []
    if view is None:
        view = next(parts.viewers([image]))
    views, shape = views_of(parts.grid)
    phrases_of_caption = whole_phrases(caption.text)
    texts = [phrase_around(caption, span, phrases_of_caption) for span in spans]
    (whole,) = view(views[:1], [text for both in texts for text in both])
    phrases, without = whole[::2], whole[1::2]
    supports = (phrases - without).tolist()
    local = [i for i, support in enumerate(supports) if has_map(i, support)]
    weights: dict[int, FloatArray] = {}
    if local:
        of_parts = view(views[1:], [texts[i][0] for i in local])
        for i, odds in zip(local, of_parts.T, strict=True):
            weights[i] = (phrases[i] - odds).reshape(shape)
    field = parts.field_of_view(image.size)
    return [
        PartMap(weights.get(i), support, field, image.size) for i, support in enumerate(supports)
    ]


def phrase_around(
    caption: Caption, span: Sequence[int], phrases: Sequence[tuple[int, int]]
) -> tuple[str, str]:
    """Those of the caption's phrases that the words are in, and the same without them.

    >>> text = "A big red dog, next to a tree."
    >>> phrase_around(Caption.parse(text), [2], whole_phrases(text))
    ('big red dog', 'big dog')
    """
    first, last = caption.spans[span[0]][0], caption.spans[span[-1]][1]
    ranges = [(a, b) for a, b in phrases if a < last and first < b]
    start, end = min([first, *(a for a, _ in ranges)]), max([last, *(b for _, b in ranges)])
    words = [i for i, (a, b) in enumerate(caption.spans) if start <= a and b <= end]
    phrase = Caption.parse(caption.text[start:end])
    return phrase.text, phrase.without([i - words[0] for i in span])


def views_of(grid: tuple[int, int]) -> tuple[BoolArray, tuple[int, int]]:
    """Views of a grid of patches, [1 + parts, rows, columns]: the whole, then without each part, by
    rows; and the rows and columns of parts.

    >>> views, shape = views_of((2, 16))
    >>> shape, views[:2, 0, :4].tolist()
    ((2, 8), [[True, True, True, True], [False, False, True, True]])
    """
    shape = (min(SIDE, grid[0]), min(SIDE, grid[1]))
    row_of, column_of = (np.arange(n) * parts // n for n, parts in zip(grid, shape, strict=True))
    part_of = row_of[:, None] * shape[1] + column_of
    parts = np.arange(shape[0] * shape[1])[:, None, None]
    return np.concatenate([np.ones((1, *grid), np.bool_), part_of != parts]), shape
