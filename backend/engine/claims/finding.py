"""The claims of a caption, by its form: a list of tags, prose, or both beside each other."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from backend.engine.captions import lower_words
from backend.engine.claims.claim import Claim, whole
from backend.engine.claims.division import Division
from backend.engine.claims.marks import with_marks_beside, without_marks
from backend.engine.claims.pronouns import with_subjects
from backend.engine.claims.sentences import Fits, sentences_of
from backend.engine.claims.tags import is_tag_list, list_beside_prose, tags_of
from backend.engine.constants.part import ConstantPart, blank_out

#: What a chat model calls a part of its description, in bold: a line of its own, or a few words
#: with a colon at the beginning of one that are no noun phrase, such as "**A red car:**".
_LABEL = re.compile(
    r"^[ \t]*(?:[-*+•]|\d{1,2}[.)])?[ \t]*(?P<label>(?P<mark>\*\*|__)(?:[^*_\n]{1,80}(?P=mark):?"
    r"[ \t]*$|(?!(?:an?|the|one|two|three|this|that|his|her|its|their)\b)[^\W\d_][\w'’/&-]*"
    r"(?:[ \t][\w'’/&()-]+){0,3}(?::(?P=mark)|(?P=mark)[ \t]?:)[ \t]*))",
    re.IGNORECASE | re.MULTILINE,
)
#: Between the line breaks that `blank_out` writes; a break of the caption's own is one.
_PIECE = re.compile(r"[^\n]+(?:\n[^\n]+)*")


def find_claims(
    caption: str,
    division: Division = "auto",
    fits: Fits | None = None,
    constants: Sequence[ConstantPart] = (),
) -> tuple[Claim, ...]:
    """The claims of a caption, in order and without overlaps; at least one, and a caption that is
    one sentence is its own claim, with all its characters.

    `fits`: whether the model reads a text whole; longer sentences are divided at clauses.
    `constants`: parts of captions that are left out: they belong to no claim, nor do endings that
    say nothing about the picture, bold labels ("**Subject:** a dog") and formatting marks.

    >>> [claim.kind for claim in find_claims("A dog runs. It is red.")]
    ['sentence', 'sentence']
    >>> [claim.kind for claim in find_claims("A dog runs on the beach.")]
    ['whole']
    >>> ohwx = ConstantPart(("ohwx", "style"), "begin")
    >>> find_claims("Ohwx style, a dog.", constants=[ohwx])[0].of("Ohwx style, a dog.")
    'a dog.'
    """
    plain, places = without_marks(caption)
    text = blank_out(_without_labels(caption, plain, places), constants)
    claims = _claims_of(plain, text, division, fits)
    return claims if plain == caption else tuple(_in_caption(claims, caption, plain, places))


def _in_caption(
    claims: Iterable[Claim], caption: str, plain: str, places: Sequence[int]
) -> Iterator[Claim]:
    """The claims of the text without marks as those of the caption, with the marks around them."""
    for claim in claims:
        words = claim.of(plain)
        first = claim.start + len(words) - len(words.lstrip())
        last = claim.start + len(words.rstrip()) - 1
        start, end = with_marks_beside(caption, places[first], places[last] + 1)
        kind = "sentence" if claim.kind == "whole" else claim.kind  # it is not read as it stands
        yield replace(claim, start=start, end=end, kind=kind)


def _claims_of(caption: str, text: str, division: Division, fits: Fits | None) -> tuple[Claim, ...]:
    """The claims of a caption without marks. `text`: as long as the caption, so that what stands in
    it has the same place in both, with line breaks in place of what belongs to no claim."""
    if division == "whole":
        return whole(caption) if text == caption else tuple(_pieces(text))
    place = list_beside_prose(text) if division == "auto" else None
    if place is not None:
        claims = _prose_and_tags(text, *place, fits)
    elif division == "tags" or (division == "auto" and is_tag_list(text)):
        claims = list(tags_of(text))
    else:
        claims = list(with_subjects(sentences_of(text, fits), text))
    if not claims:
        return whole(caption) if text == caption else tuple(_pieces(text))
    if len(claims) == 1 and text == caption and _covers(claims[0], caption):
        return whole(caption)
    return tuple(_with_repetitions(claims, caption))


def _without_labels(caption: str, plain: str, places: Sequence[int]) -> str:
    """The plain text of the caption with line breaks in place of bold labels."""
    labels = [match.span("label") for match in _LABEL.finditer(caption)]
    text = "".join(
        "\n" if any(start <= place < end for start, end in labels) else character
        for character, place in zip(plain, places, strict=False)
    )
    return text if any(map(str.isalnum, text)) else plain


def _prose_and_tags(text: str, start: int, end: int, fits: Fits | None) -> list[Claim]:
    """The sentences around the list of tags that stands from `start` to `end`, and each tag. Each
    part is read with line breaks in place of the other, so that all places are the caption's."""
    prose = text[:start] + "\n" * (end - start) + text[end:]
    tags = "\n" * start + text[start:end] + "\n" * (len(text) - end)
    claims = [*with_subjects(sentences_of(prose, fits), prose), *tags_of(tags)]
    return sorted(claims, key=lambda claim: claim.start)


def _pieces(text: str) -> Iterator[Claim]:
    """What is left of a caption whose constant parts are line breaks."""
    for piece in _PIECE.finditer(text):
        if any(map(str.isalnum, piece[0])):
            yield Claim(*piece.span(), "clause")


def _covers(claim: Claim, caption: str) -> bool:
    """Whether nothing but punctuation and white space stands outside the claim."""
    outside = caption[: claim.start] + caption[claim.end :]
    return claim.kind != "tag" and not any(character.isalnum() for character in outside)


def _with_repetitions(claims: Iterable[Claim], caption: str) -> Iterable[Claim]:
    earlier: set[tuple[str, ...]] = set()
    for claim in claims:
        words = tuple(lower_words(claim.question(caption)))
        yield replace(claim, repeats=True) if words in earlier else claim
        earlier.add(words)
