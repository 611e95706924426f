"""The part of a picture that speaks most for some words, as a box."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.english.word_kinds import kind_of
from backend.engine.english.word_lists import CLOSED_CLASS, FUNCTION_WORDS
from backend.engine.scoring.protocol import BoolArray, Box, Scorer, Viewer
from backend.features.regions.part_maps import PartMap, check_sees_parts, part_maps

IntArray = NDArray[np.int64]

#: Changes whenever regions do.
VERSION = 3
#: Where words are in a caption: their first character, and the one behind the last.
Span = tuple[int, int]

#: Words whose support is less have no region: nothing in the picture speaks for them.
LEAST = -0.8
#: The same for words of these kinds, which are more often called absent in error.
_LEAST_OF_KIND = {"action": -2.0, "count": -1.2, "weather": -1.2}
#: Share of the strongest part's weight that the other parts of a region have at least.
SHARE = 0.2
#: Kinds of words that are about the whole picture: their maps point at things (see
#: research/RESULTS.md, "Where in the picture").
_EVERYWHERE = ("place", "weather", "time")
#: The same, of words that have no such kind.
_SCENERY = ("rain", "sunshine", "sunlight", "fog", "mist", "storm", "dark", "darkness", "daylight",
            "sea", "ocean", "outdoors", "indoors")  # fmt: skip


@dataclass(frozen=True)
class Region:
    """`box`: in pixels of the upright picture; None: nothing in the picture speaks for the words.
    `weight`: what they add to the match of their phrase (log-odds)."""

    box: Box | None
    weight: float


@dataclass(frozen=True)
class Search:
    """For words at `spans` of a caption, each in the claim that it begins in. `claims`: where they
    are in the caption, which may be a single one."""

    image: Image.Image
    caption: str
    claims: Sequence[Span]
    spans: Sequence[Span]


def regions_of(scorer: Scorer, searches: Sequence[Search]) -> list[dict[Span, Region]]:
    """The regions of each search by span; without those of which the model reads no word, or none
    that can be somewhere. Places, weathers and times have the whole picture. Raises ModelMismatch
    for a scorer that sees no parts."""
    viewers = check_sees_parts(scorer).viewers([search.image for search in searches])
    every = []
    for search, view in zip(searches, viewers, strict=True):
        regions: dict[Span, Region] = {}
        for first, last in search.claims:
            inside = [(a - first, b - first) for a, b in search.spans if first <= a < last]
            claim = search.caption[first:last]
            of_claim = _regions_of_claim(scorer, search.image, view, claim, inside)
            regions |= {(a + first, b + first): region for (a, b), region in of_claim.items()}
        every.append(regions)
    return every


def _regions_of_claim(
    scorer: Scorer, image: Image.Image, view: Viewer, claim: str, spans: Sequence[Span]
) -> dict[Span, Region]:
    caption = Caption.parse(claim)
    readable = range(min(len(caption), scorer.reader.words_read(claim)))
    words_of = {
        (start, end): [
            i for i in readable if caption.spans[i][0] < end and start < caption.spans[i][1]
        ]
        for start, end in spans
    }
    words_of = {
        span: words
        for span, words in words_of.items()
        if any(can_be_somewhere(caption.words[i]) for i in words)
    }
    spans_of_words = list(words_of.values())
    texts = [[caption.words[i] for i in words] for words in spans_of_words]
    limits = [least_of(words) for words in texts]
    is_local = [not all(map(_is_everywhere, words)) for words in texts]

    def has_map(number: int, support: float) -> bool:
        return is_local[number] and support >= limits[number]

    maps = part_maps(scorer, image, caption, spans_of_words, has_map, view)
    return {
        span: region_of(of_span, limit)
        for span, of_span, limit in zip(words_of, maps, limits, strict=True)
    }


def least_of(words: Iterable[str]) -> float:
    """The support with less of which nothing in the picture speaks for these words.

    >>> least_of(["dogs"]), least_of(["Two", "dogs"])
    (-0.8, -1.2)
    """
    return min(_LEAST_OF_KIND.get(kind_of(word), LEAST) for word in words)


def can_be_somewhere(word: str) -> bool:
    """
    >>> [word for word in "no dog under the bed".split() if can_be_somewhere(word)]
    ['dog', 'under', 'bed']
    """
    word = word.lower()
    is_closed = word in CLOSED_CLASS and kind_of(word) != "relation"
    return word not in FUNCTION_WORDS and not is_closed


def _is_everywhere(word: str) -> bool:
    """
    >>> [word for word in "A dog in the snowy park at night".split() if _is_everywhere(word)]
    ['A', 'in', 'the', 'snowy', 'park', 'at', 'night']
    """
    is_scenery = kind_of(word) in _EVERYWHERE or word.lower() in _SCENERY
    return is_scenery or not can_be_somewhere(word)


def region_of(of_words: PartMap, least: float = LEAST) -> Region:
    """The largest connected part of the map where weights reach SHARE of the largest, or the whole
    picture for words without a map; no box if the words' support is less than `least`, or no part
    speaks for them."""
    weights, support = of_words.weights, of_words.support
    width, height = of_words.size
    if support < least:
        return Region(None, support)
    if weights is None:
        return Region((0.0, 0.0, float(width), float(height)), support)
    peak = float(weights.max())
    if peak <= 0:
        return Region(None, support)
    rows, columns = _largest_part(weights >= SHARE * peak)
    left, top, right, bottom = of_words.field
    down, across = (bottom - top) / weights.shape[0], (right - left) / weights.shape[1]
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
