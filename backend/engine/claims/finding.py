"""The claims of a caption, by its form: a list of tags, or prose."""

from collections.abc import Iterable
from dataclasses import replace

from backend.engine.captions import lower_words
from backend.engine.claims.claim import Claim, whole
from backend.engine.claims.division import Division
from backend.engine.claims.pronouns import with_subjects
from backend.engine.claims.sentences import Fits, sentences_of
from backend.engine.claims.tags import is_tag_list, tags_of


def find_claims(
    caption: str, division: Division = "auto", fits: Fits | None = None
) -> tuple[Claim, ...]:
    """The claims of a caption, in order and without overlaps; at least one, and a caption that is
    one sentence is its own claim, with all its characters.

    `fits`: whether the model reads a text whole; longer sentences are divided at clauses.

    >>> [claim.kind for claim in find_claims("A dog runs. It is red.")]
    ['sentence', 'sentence']
    >>> [claim.kind for claim in find_claims("A dog runs on the beach.")]
    ['whole']
    """
    if division == "whole":
        return whole(caption)
    if division == "tags" or (division == "auto" and is_tag_list(caption)):
        claims = list(tags_of(caption))
    else:
        claims = list(with_subjects(sentences_of(caption, fits), caption))
    if not claims or (len(claims) == 1 and _covers(claims[0], caption)):
        return whole(caption)
    return tuple(_with_repetitions(claims, caption))


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
