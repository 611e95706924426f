r"""A claim taken out of its caption, with what separates it from the others and nothing else; and
where a claim stands in a caption that has been edited since.

    A dog runs. It is red. A cat sleeps.   →   A dog runs. A cat sleeps.
    1girl, (long_hair:1.2), smile          →   1girl, smile
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from backend.engine.claims.claim import Claim
from backend.engine.claims.sentences import mark_of_list
from backend.engine.claims.tags import piece_around

_BLANK = re.compile(r"\s*")
_SEPARATOR_BEFORE = re.compile(r"[,;|\n、，；]\s*\Z")


def without(text: str, claim: Claim) -> str:
    """The text without the claim.

    >>> without("A dog. A red ball. A cat.", Claim(7, 18))
    'A dog. A cat.'
    """
    return _without_tag(text, claim) if claim.kind == "tag" else _without_sentence(text, claim)


def without_all(caption: str, claims: Sequence[Claim], text: str | None = None) -> str:
    """The text, by default the caption itself, without those of the caption's claims that stand in
    it.

    >>> without_all("A dog. Oh. A cat.", [Claim(7, 10), Claim(11, 17)], "A big dog. Oh. A cat.")
    'A big dog.'
    """
    text = caption if text is None else text
    for claim in sorted(claims, key=lambda claim: -claim.start):
        if (place := place_in(text, caption, claim)) is not None:
            text = without(text, place)
    return text


def place_in(text: str, caption: str, claim: Claim) -> Claim | None:
    """The claim of a caption at its place in the text that the caption has become; None if it is no
    longer there, or at several places.

    >>> place = place_in("Two dogs. A ball.", "A dog. A ball.", Claim(7, 14))
    >>> place is not None and (place.start, place.end)
    (10, 17)
    """
    words = claim.of(caption)
    behind = len(text) - (len(caption) - claim.start)
    starts = [
        match.start()
        for match in re.finditer(re.escape(words), text)
        if _is_apart(text, match.start(), match.end())
    ]
    if behind in starts and text[behind:] == caption[claim.start :]:
        start = behind
    elif claim.start in starts and text[: claim.start] == caption[: claim.start]:
        start = claim.start
    elif len(starts) == 1:
        start = starts[0]
    else:
        return None
    return replace(claim, start=start, end=start + len(words))


def _is_apart(text: str, start: int, end: int) -> bool:
    """Whether the characters are no part of a longer word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (
        after.isalnum() and text[end - 1].isalnum()
    )


def _without_sentence(text: str, claim: Claim) -> str:
    """With the white space on one side: behind it, or before it where a line ends behind it."""
    start, end = claim.start, claim.end
    line = text.rfind("\n", 0, start) + 1
    behind = _blank_end(text, end)
    before = _blank_start(text, start)
    ends_line = behind == len(text) or "\n" in text[end:behind]
    if ends_line and (mark := mark_of_list(text, line)) is not None and mark == start:
        start = line  # an item of a list that says nothing else
        before = _blank_start(text, start)
    begins_line = not text[line:start].strip()
    if behind == len(text) or (ends_line and not begins_line):
        return text[:before] + text[end:]
    return text[:start] + text[behind:]


def _blank_end(text: str, place: int) -> int:
    """Where the white space ends that begins here."""
    match = _BLANK.match(text, place)
    return match.end() if match else place


def _blank_start(text: str, place: int) -> int:
    """Where the white space begins that ends here."""
    return len(text[:place].rstrip())


def _without_tag(text: str, claim: Claim) -> str:
    """With its own brackets and weight, and with the separator behind it, or before the last."""
    start, end, following = piece_around(text, claim)
    if following > end:
        first = not text[:start].strip()
        after = _blank_end(text, following) if first else following
        return text[:start] + text[after:]
    before = _SEPARATOR_BEFORE.search(text[:start])
    return text[: before.start() if before else start] + text[end:]
