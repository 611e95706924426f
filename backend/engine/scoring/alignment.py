"""Where the characters of a cleaned text stand in the user's own.

Libraries clean a caption before they read it: lower case, no punctuation, repaired encoding,
compatibility forms. The model's tokens then refer to the cleaned text, but what is highlighted and
replaced must be the user's, byte for byte.
"""

import re
import unicodedata
from collections.abc import Callable
from difflib import SequenceMatcher

_CHUNK = re.compile(r"\S+")

Span = tuple[int, int]


def origins(text: str, clean: Callable[[str], str]) -> list[Span]:
    """For each character of `clean(text)`, the half-open range of `text` that it comes from.

    Text is compared word by word if that gives the same result as cleaning it whole, so that
    repeated words are never mistaken for each other. An added character gets an empty range.

    >>> origins("A_B, c", lambda t: t.replace("_", " ").replace(",", "").lower())
    [(0, 1), (1, 2), (2, 3), (3, 5), (5, 6)]
    """
    whole = clean(text)
    chunks = [(match.start(), match.group()) for match in _CHUNK.finditer(text)]
    parts = [clean(chunk) for _, chunk in chunks]
    if " ".join(filter(None, parts)) != whole:
        chunks, parts = [(0, text)], [whole]
    ranges: list[Span] = []
    for (start, chunk), part in zip(chunks, parts, strict=True):
        if part and ranges:
            ranges.append((ranges[-1][1], start))  # the space between two words
        ranges += [(start + a, start + b) for a, b in _aligned(chunk, part)]
    return ranges


def span_in(ranges: list[Span], cleaned: str, start: int, end: int) -> Span:
    """The range of the user's text behind `cleaned[start:end]`, without the spaces around it.

    `ranges`: of `origins`. Empty if there is nothing but spaces.
    """
    start, end = without_spaces(cleaned, start, end)
    if start < end:
        return ranges[start][0], ranges[end - 1][1]
    place = ranges[start - 1][1] if start else 0
    return place, place


def without_spaces(text: str, start: int, end: int) -> Span:
    """
    >>> without_spaces("a dog", 1, 5), without_spaces("a dog", 1, 2)
    ((2, 5), (2, 2))
    """
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _aligned(text: str, cleaned: str) -> list[Span]:
    matcher = SequenceMatcher(None, _folded(text), _folded(cleaned), autojunk=False)
    ranges: list[Span] = []
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "equal":
            ranges += [(place, place + 1) for place in range(start, end)]
        else:
            ranges += [(start, end)] * (last - first)
    return ranges


def _folded(text: str) -> list[str]:
    """Each character in lower case and its compatibility form."""
    return [unicodedata.normalize("NFKC", letter).lower() for letter in text]
