"""The claims of a caption, by its form: a list of tags, prose, or both beside each other."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from backend.engine.captions import lower_words
from backend.engine.claims.claim import Claim, whole
from backend.engine.claims.division import Division
from backend.engine.claims.pronouns import with_subjects
from backend.engine.claims.sentences import Fits, sentences_of
from backend.engine.claims.tags import is_tag_list, list_beside_prose, tags_of
from backend.engine.constants.part import ConstantPart, blank_out

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
    say nothing about the picture.

    >>> [claim.kind for claim in find_claims("A dog runs. It is red.")]
    ['sentence', 'sentence']
    >>> [claim.kind for claim in find_claims("A dog runs on the beach.")]
    ['whole']
    >>> ohwx = ConstantPart(("ohwx", "style"), "begin")
    >>> find_claims("Ohwx style, a dog.", constants=[ohwx])[0].of("Ohwx style, a dog.")
    'a dog.'
    """
    # As long as the caption, so that what stands in it has the same place in both.
    text = blank_out(caption, constants)
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
