"""Surface features of a caption, independent of its content: shares of word classes and marks.

Descriptions have articles, adjectives and places; headlines have names and past-tense verbs;
products have numbers and codes; advice addresses "you". Words are tagged by TextBlob's tagger.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.english.function_words import FUNCTION_WORDS

#: Penn Treebank tags whose share among a caption's words is a feature.
_TAGS = ("NN", "NNS", "NNP", "VB", "VBG", "VBD", "VBZ", "VBN", "JJ", "IN", "DT", "PRP", "PRP$",
         "CD", "RB", "TO", "CC")  # fmt: skip
#: Each pattern's number of matches per word of the caption is a feature.
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:you|your|we|our|us|my|i|me|it)\b",
        r"\b(?:how|why|what|when|who|which)\b",
        r"\b(?:a|an|one|two|three|four)\b",
        r"\bthe\b",
        r"\b(?:with|on|in|at|under|behind|next|beside|above)\b",
        r"\bof\b",
        r"\b\w{3,}ing\b",
        r"\b\w{3,}ed\b",
        r"\b(?:is|are|was|were|has|have|had|be|been|will|can|should|would|could|may)\b",
        r"isolated|background|vector|stock|illustration|silhouette|close-?up|photo|cartoon"
        r"|portrait|view",
        r"\.",
        r",",
        r":",
        r"-",
    )
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGIT, _LATIN = re.compile(r"\d"), re.compile(r"[A-Za-z]")
#: Only the first characters of a very long caption are used.
_LONGEST = 2_000


def describe(captions: Sequence[str]) -> NDArray[np.float64]:
    """One feature row per caption, shape [captions, WIDTH]."""
    return np.array([_wording(text[:_LONGEST]) + _tags(text[:_LONGEST]) for text in captions])


def _wording(text: str) -> list[float]:
    words, letters = text.split(), _LETTERS.findall(text.lower())
    count, letter_count = max(1, len(words)), max(1, len(letters))
    return [
        float(np.log(count)),
        float(np.log(1 + len(text))),
        sum(word[:1].isupper() for word in words[1:]) / max(1, count - 1),
        sum(word.isupper() and len(word) > 1 for word in words) / count,
        sum(bool(_DIGIT.search(word)) for word in words) / count,
        sum(bool(_DIGIT.search(word) and _LATIN.search(word)) for word in words) / count,
        float(len(_YEAR.findall(text))),
        *(len(pattern.findall(text)) / count for pattern in _PATTERNS),
        sum(word in FUNCTION_WORDS for word in letters) / letter_count,
        float(text.count("!") + text.count("?")),
        float(text.count("|") + text.count("#") + text.count("@")),
        float(text.count("(") + text.count('"')),
        float(np.mean([len(word) for word in letters])) if letters else 0.0,
        len(set(letters)) / letter_count,
        sum(ord(character) > 127 for character in text) / max(1, len(text)),
    ]


def _tags(text: str) -> list[float]:
    tags = [tag for _, tag in _tagger().tag(text)]
    counted = Counter(tags)
    return [counted[tag] / max(1, len(tags)) for tag in _TAGS]


@cache
def _tagger() -> Any:
    from textblob.taggers import PatternTagger

    return PatternTagger()


#: Number of features.
WIDTH = 7 + len(_PATTERNS) + 7 + len(_TAGS)
