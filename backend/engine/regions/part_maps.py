"""How much each part of a picture speaks for some words of its caption.

The words are asked about in their phrase alone ("a red dog" of "A red dog next to a tree."): in the
whole caption other words speak for the same parts. With o the log-odds of s, a part of the picture
speaks for the phrase by as much as o falls when the model does not see that part. *Support* is what
the words add to their phrase with the whole picture, o(phrase) − o(phrase without the words): it is
low for a thing that is not there.
"""

from collections.abc import Collection, Sequence
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

    * `weights`: [rows, columns], the fall without each part; None for words about the whole
      picture, whose support alone is computed;
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
    everywhere: Collection[int] = (),
) -> list[PartMap]:
    """A map for each of `spans`, ascending indices of words, in one batch for all. `everywhere`:
    which of the spans are about the whole picture.

    Raises ModelMismatch for a scorer that sees no parts.
    """
    parts = check_sees_parts(scorer)
    if not spans:
        return []
    views, shape = views_of(parts.grid)
    texts = [phrase_around(caption, span) for span in spans]
    local = [i for i in range(len(spans)) if i not in everywhere]
    requests = [(views[:1], [text for both in texts for text in both])]
    if local:
        requests.append((views[1:], [texts[i][0] for i in local]))
    whole, *of_parts = parts.score_views(image, requests)
    phrases, without = whole[0, ::2], whole[0, 1::2]
    weights = {
        i: (phrases[i] - odds).reshape(shape)
        for scores in of_parts
        for i, odds in zip(local, scores.T, strict=True)
    }
    field = parts.field_of_view(image.size)
    return [
        PartMap(weights.get(i), float(phrases[i] - without[i]), field, image.size)
        for i in range(len(spans))
    ]


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
