r"""Lists of tags, as they are written for training image generators.

    1girl, long_hair, (blue eyes:1.2), saber \(fate\), <lora:style:0.8>

Pieces between commas or line breaks, each of a few words, without sentences. Brackets and weights
say how strongly a tag counts and belong to no claim; `<lora:…>` and BREAK are instructions. A list
may stand behind sentences or before them: "A girl waits for a bus. 1girl, long_hair, rain, street".
"""

import re
from collections.abc import Iterator

from backend.engine.claims.claim import Claim

_SEPARATOR = re.compile(r"[,;|\n、，；]")
#: Instructions to a generator.
_INSTRUCTION = re.compile(r"<[^<>]*>|\bBREAK\b|\bAND\b")
#: Brackets around a tag, unless they are escaped and so part of its name, and a weight behind it.
_OPENING = re.compile(r"(?:\s|(?<!\\)[(\[{])+")
#: It begins with all of a row of blanks or brackets, so that no row is tried from each of them.
_CLOSING = re.compile(r"(?<!\s)(?<!(?<!\\)[)\]}])(?:\s|(?<!\\)[)\]}]|:\d*\.?\d+(?=\s*[)\]}]))+$")
#: A sentence that ends within a piece, or with it.
_ENDS_WITHIN = re.compile(r"[.!?][\"'”’)]*\s+\S|[。！？]")
_ENDS_WITH_IT = re.compile(r"\w[.!?][\"'”’)]*$")
#: Behind the last sentence before a list, or the last tag before a sentence.
_PROSE_END = re.compile(r"[.!?][\"'”’)]*\s+|[。！？]\s*|(?<!\s)\s*\n+")
_ARTICLES = re.compile(r"\b(?:a|an|the|is|are|was|were)\b", re.IGNORECASE)
_CONJUNCTION = re.compile(r"\s*(?:and|or|but|while|which|who|as)\b", re.IGNORECASE)

_UNDERSCORED = re.compile(r"[^\W\d_]_+[^\W\d_]")

#: A list of tags has at least so many, of which most have few words, and few an article.
FEWEST = 4
_FEW_WORDS, _MOST_WORDS = 4, 8
_SHORT_SHARE, _ARTICLE_SHARE = 0.75, 0.25


def is_tag_list(text: str) -> bool:
    """Whether a caption has the form of a list of tags.

    >>> is_tag_list("1girl, long_hair, (blue eyes:1.2), smile")
    True
    >>> is_tag_list("a_red_car, tree")
    True
    >>> is_tag_list("A man, a woman, a dog, and a cat stand in a park.")
    False
    """
    if _is_underscored(text):
        return True
    tags = [claim.question(text) for claim in tags_of(text)]
    lengths = [len(tag.split()) for tag in tags]
    if len(tags) < FEWEST or max(lengths) > _MOST_WORDS:
        return False
    if any(_CONJUNCTION.match(tag) or _ENDS_WITHIN.search(tag) for tag in tags):
        return False
    if any(_ENDS_WITH_IT.search(tag) for tag in tags[:-1]):
        return False
    short = sum(length <= _FEW_WORDS for length in lengths)
    with_article = sum(bool(_ARTICLES.search(tag)) for tag in tags)
    return short >= _SHORT_SHARE * len(tags) and with_article <= _ARTICLE_SHARE * len(tags)


def _is_underscored(text: str) -> bool:
    """Whether underscores stand in place of all blanks within its pieces."""
    pieces = [text[start:end].strip() for start, end, _ in _pieces(text)] if "_" in text else []
    words = [piece for piece in pieces if piece]
    return any(map(_UNDERSCORED.search, words)) and not any(" " in piece for piece in words)


def list_beside_prose(text: str) -> tuple[int, int] | None:
    """From where to where a list of tags stands behind the sentences of a caption, or before them;
    None if there is none. Tags begin with a small letter or a number, and end without a full stop:
    "He sells apples, pears, plums, figs." is a sentence.

    >>> text = "A girl waits. 1girl, long_hair, rain, street"
    >>> text[slice(*list_beside_prose(text))]
    '1girl, long_hair, rain, street'
    >>> list_beside_prose("A man is here. He sells apples, pears, plums, figs.")
    """
    for end in _PROSE_END.finditer(text):
        head, tail = text[: end.start()], text[end.end() :]
        if _may_be_list(tail) and _is_prose(text[: end.end()]) and is_tag_list(tail):
            return end.end(), len(text)
        if _may_be_list(head) and _is_prose(tail) and is_tag_list(head):
            return 0, end.start()
    return None


def _may_be_list(text: str) -> bool:
    """Whether it neither begins nor ends as a sentence does, and has enough separators."""
    first = text.lstrip(" \n([{")[:1]
    if not first or first.isupper() or _ENDS_WITH_IT.search(text.rstrip()):
        return False
    return len(_SEPARATOR.findall(text)) >= FEWEST - 1


def _is_prose(text: str) -> bool:
    """Whether it begins as a sentence does, and ends as one or is long enough for one."""
    plain = text.strip()
    is_long = len(plain.split()) > _FEW_WORDS and bool(_ARTICLES.search(plain))
    return plain[:1].isupper() and (is_long or bool(_ENDS_WITH_IT.search(plain)))


def can_replace(tag: str, text: str) -> bool:
    """Whether a text has the form that a tag has: a few words, and no article unless the tag has
    one. Captioners describe in sentences.

    >>> can_replace("red bus", "blue bus"), can_replace("red bus", "A blue bus on a street.")
    (True, False)
    """
    if _SEPARATOR.search(text) or _ENDS_WITHIN.search(text) or _ENDS_WITH_IT.search(text):
        return False
    if _ARTICLES.search(text) and not _ARTICLES.search(tag):
        return False
    return len(text.split()) <= max(_FEW_WORDS, len(tag.split()) + 1)


def tags_of(text: str) -> Iterator[Claim]:
    r"""The tags of a list, without brackets and weights.

    >>> text = "(long_hair:1.2), saber \\(fate\\), <lora:x:1>"
    >>> [claim.of(text) for claim in tags_of(text)]
    ['long_hair', 'saber \\(fate\\)']
    """
    for start, end, _ in _pieces(text):
        yield from _tag(text, start, end)


def piece_around(text: str, claim: Claim) -> tuple[int, int, int]:
    """What goes with a tag that is taken away: from where to where it stands with its own brackets
    and weight and the white space around them, and where the separator behind it ends.

    >>> text = "smile, (long_hair:1.2), (red, hat:1.1)"
    >>> [text[slice(*piece_around(text, claim)[:2])] for claim in tags_of(text)]
    ['smile', ' (long_hair:1.2)', 'red', ' hat']
    """
    start, end, following = next(
        (piece for piece in _pieces(text) if piece[0] <= claim.start and claim.end <= piece[1]),
        (claim.start, claim.end, claim.end),
    )
    for sentence in _PROSE_END.finditer(text, start, claim.start):
        start = sentence.start() + len(sentence[0].rstrip())
    openings = [index for index in range(start, claim.start) if text[index] in "([{"]
    closings = [index for index in range(claim.end, end) if text[index] in ")]}"]
    if len(openings) > len(closings):  # a bracket around several
        start = openings[len(openings) - len(closings) - 1] + 1
    elif len(closings) > len(openings):
        end = closings[len(openings) - 1] + 1 if openings else claim.end
        following = end
    return start, end, following


def _pieces(text: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, where the separator behind it ends) of each piece of a list."""
    instructions = [match.span() for match in _INSTRUCTION.finditer(text)]
    ends = [match.span() for match in _SEPARATOR.finditer(text)]
    outside = [
        end for end in ends if not any(first < end[0] < last for first, last in instructions)
    ]
    cuts = sorted([*outside, *instructions, (len(text), len(text))])
    start = 0
    for end, following in cuts:
        if start < end:
            yield start, end, end if (end, following) in instructions else following
        start = max(start, following)


def _tag(text: str, start: int, end: int) -> Iterator[Claim]:
    """The tag in a piece of the text, if there is one."""
    if opening := _OPENING.match(text, start, end):
        start = opening.end()
    if closing := _CLOSING.search(text[start:end]):
        end = start + closing.start()
    if any(character.isalnum() for character in text[start:end]):
        yield Claim(start, end, "tag")
