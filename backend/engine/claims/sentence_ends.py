"""Where sentences end: sentencex's answer, corrected where captions are written otherwise than the
running text that it was made for (sizes, years, initials, lists, sentences in parentheses).

`tests/engine/claims/sentence_ends.txt` has 300 captions with their ends.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

_NUMBERED = (
    r"approx|est|eds?|vols?|ca|nos?|figs?|pp?|pl|ch|sec|art|max|min|avg|elev|wt|temp|exp|ser|alt"
)
_MEASURES = r"approx|est|incl|excl|avg|esp|cf|vs|lbs?|ft|oz|qt|yrs?|hrs?|tbsp|tsp|sq|fl|[ckm]?m|k?g"
#: No sentence ends between these: an abbreviation and what it abbreviates for, and a number that
#: counts the items of a list.
_JOINED = tuple(
    (re.compile(before, re.IGNORECASE), re.compile(after))
    for before, after in (
        (rf"\b(?:{_NUMBERED})\.\s*$", r"[\d.]"),
        (rf"\b(?:{_MEASURES})\.\s*$", r"[a-z]"),
        (r"\b(?:dr|mrs?|ms|prof)\.\s*$", r"[A-Z]"),
        (r"(?:^|[:,;]\s)\s*\(?\d{1,3}[.)]\s*$", r"\S"),
    )
)
#: Begins a sentence, whatever stands before it: "on Main St. The", but not "J. A. Smith".
_OPENERS = (
    r"A|An|The|It|Its|He|His|She|Her|They|Their|There|This|These|Two|Three|Both|In|On|At|Behind|"
    r"Nobody|Some|Several|People"
)
#: Where sentences end for which sentencex goes on: behind one in parentheses, and behind an
#: abbreviation before a word that begins a sentence.
_IN_PARENTHESES = re.compile(r"^\s*\([^()]*[.!?…][\"'”’]?\)\s+(?=\S)")
_BEFORE_OPENER = re.compile(rf"(?:\b\w+\.|…)\s+(?=(?:{_OPENERS})\s)|\betc\.\s+(?=[A-Z])")


def sentence_ranges(language: str, text: str) -> Iterator[tuple[int, int]]:
    """The ranges of the sentences, with the white space around them; they cover the text.

    `language`: an ISO 639-1 code.

    >>> text = "A jug of approx. 2 liters. (It is red.) No. A cat."
    >>> [text[start:end] for start, end in sentence_ranges("en", text)]
    ['A jug of approx. 2 liters. ', '(It is red.) ', 'No. ', 'A cat.']
    """
    from sentencex import get_sentence_boundaries

    is_english = language == "en"
    starts = [0]
    for boundary in get_sentence_boundaries(language, text):
        first, last = boundary["start_index"], boundary["end_index"]
        if first > starts[-1] and not (is_english and _are_joined(text, starts[-1], first)):
            starts.append(first)
        starts += _ends_within(text[first:last], first, is_english)
    yield from pairwise([*starts, len(text)])


def _are_joined(text: str, start: int, place: int) -> bool:
    return any(
        before.search(text[start:place]) and after.match(text, place) for before, after in _JOINED
    )


def _ends_within(piece: str, offset: int, is_english: bool) -> list[int]:
    """Where further sentences begin in what sentencex takes for one."""
    ends = {match.end() for match in [_IN_PARENTHESES.match(piece)] if match}
    if is_english:
        ends |= {match.end() for match in _BEFORE_OPENER.finditer(piece)}
    return [offset + end for end in sorted(ends)]
