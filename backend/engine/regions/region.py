"""The part of a picture that speaks most for some words, as a box."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from backend.engine.captions import Caption
from backend.engine.english.word_kinds import kind_of
from backend.engine.english.word_lists import CLOSED_CLASS, FUNCTION_WORDS
from backend.engine.regions.part_maps import PartMap, part_maps
from backend.engine.scoring.protocol import BoolArray, Box, Scorer

IntArray = NDArray[np.int64]

#: Changes whenever regions do.
VERSION = 2
#: Words whose support is less have no region: nothing in the picture speaks for them.
LEAST = -0.8
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


def regions_of(
    scorer: Scorer, image: Image.Image, caption: str, spans: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Region]:
    """The regions of these spans, in characters of the caption; without those of which the model
    reads no word, or none that can be somewhere. Places, weathers and times have the whole picture.
    Raises ModelMismatch for a scorer that sees no parts."""
    parsed = Caption.parse(caption)
    readable = range(min(len(parsed), scorer.reader.words_read(caption)))
    words_of = {
        (start, end): [
            i for i in readable if parsed.spans[i][0] < end and start < parsed.spans[i][1]
        ]
        for start, end in spans
    }
    words_of = {
        span: words
        for span, words in words_of.items()
        if any(_can_be_somewhere(parsed.words[i]) for i in words)
    }
    spans_of_words = list(words_of.values())
    everywhere = {
        number
        for number, words in enumerate(spans_of_words)
        if all(_is_everywhere(parsed.words[i]) for i in words)
    }
    maps = part_maps(scorer, image, parsed, spans_of_words, everywhere)
    return {span: region_of(of_span) for span, of_span in zip(words_of, maps, strict=True)}


def _can_be_somewhere(word: str) -> bool:
    """
    >>> [word for word in "no dog under the bed".split() if _can_be_somewhere(word)]
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
    return is_scenery or not _can_be_somewhere(word)


def region_of(of_words: PartMap) -> Region:
    """The largest connected part of the map where weights reach SHARE of the largest, or the whole
    picture for words that are about everything; no box if the words' support is less than LEAST, or
    no part speaks for them."""
    weights, support = of_words.weights, of_words.support
    width, height = of_words.size
    if support < LEAST:
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
