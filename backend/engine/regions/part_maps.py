"""How much each part of a picture speaks for some words of its caption.

The words are asked about in their phrase alone ("a red dog" of "A red dog next to a tree."): in the
whole caption other words speak for the same parts. With o the log-odds of s, a part of the picture
speaks for the phrase by as much as o falls when the model does not see that part. *Support* is what
the words add to their phrase with the whole picture, o(phrase) − o(phrase without the words): it is
low for a thing that is not there.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.english.phrases import whole_phrases
from backend.engine.scoring.protocol import BoolArray, Box, FloatArray, Scorer, SeesParts
from backend.errors import ModelMismatch

#: Rows and columns of a map, of whole patches; fewer where a model has fewer.
SIDE = 8


@dataclass(frozen=True)
class PartMap:
    """For one span of a caption, in log-odds.

    * `weights`: [rows, columns], the fall without each part;
    * `support`: what the span adds to its phrase with the whole picture;
    * `field`: the part of the picture that the map covers, in its pixels;
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
    """A map for each of `spans`, ascending indices of words, in one batch for all.

    Raises ModelMismatch for a scorer that sees no parts.
    """
    parts = check_sees_parts(scorer)
    if not spans:
        return []
    views, shape = views_of(parts.grid)
    texts = [text for span in spans for text in phrase_around(caption, span)]
    odds = parts.score_views(image, texts, views)
    phrases, without = odds[:, ::2], odds[0, 1::2]
    falls = phrases[0] - phrases[1:]
    field = parts.field_of_view(image.size)
    return [
        PartMap(
            falls[:, i].reshape(shape), float(phrases[0, i] - without[i]), field, image.size
        )
        for i in range(len(spans))
    ]  # fmt: skip


def phrase_around(caption: Caption, span: Sequence[int]) -> tuple[str, str]:
    """The phrases that the words are in, and the same without them.

    >>> phrase_around(Caption.parse("A big red dog, next to a tree."), [2])
    ('big red dog', 'big dog')
    """
    first, last = caption.spans[span[0]][0], caption.spans[span[-1]][1]
    ranges = [(a, b) for a, b in whole_phrases(caption.text) if a < last and first < b]
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
