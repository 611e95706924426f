"""What the pronouns of claims stand for: "It is black" cannot be judged alone, "The dog is black"
can.

A sentence that begins with a pronoun takes its noun from the sentence before: the first one there
that agrees with the pronoun in number and person. With that noun in place of the pronoun, models
tell wrong from right far better than alone; with the sentence before in front of it, far worse
(RESULTS.md, "Long captions"). Whatever is in doubt stays as it is written: other languages, nouns
that the word lists do not have, and "it" that stands for nothing ("It is raining").
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from backend.engine.claims.claim import Claim
from backend.engine.english.nouns import is_plural, known_nouns, noun_phrases, singular_of
from backend.engine.english.word_lists import FEMALE, MALE, PEOPLE, ROLES
from backend.engine.languages.identification import UNKNOWN, language_of

_PRONOUN = re.compile(r"(?P<pronoun>it|he|she|they)(?P<end>['’]s\b|(?=\s))", re.IGNORECASE)
#: "It is raining", "It is a sunny day", "It looks like …": no noun stands behind it.
_OF_NOTHING = re.compile(
    r"it(?:['’]s|\s+(?:is|was|appears|seems|looks|feels))\s+(?:to be\s+)?"
    r"(?:an?|the|as if|like|that|clear|possible|likely|evident|hard|difficult|important|"
    r"(?:rain|snow)(?:ing|y)|sunny|cloudy|foggy|windy|dark|day(?:time)?|night(?:time)?|winter|"
    r"summer|spring|autumn|evening|morning)\b",
    re.IGNORECASE,
)
#: "In the park, …": what stands there is not what the sentence is about.
_PLACE_FIRST = re.compile(r"\s*(?:in|on|at|near|behind|under|above|beside|to)\b[^,]*,", re.I)
#: What a caption shows, and is not about.
_SHOWN = frozenset(
    ("image", "picture", "photo", "photograph", "scene", "view", "foreground", "background",
     "middle", "center", "centre", "left", "right", "side", "front")
)  # fmt: skip
_PERSONS = frozenset((*PEOPLE, *ROLES, "person", "gentleman"))


def with_subjects(claims: Iterable[Claim], caption: str) -> Iterator[Claim]:
    """The claims of prose, with the subjects that the pronouns at their beginnings stand for.

    >>> claims = (Claim(0, 11), Claim(12, 25))
    >>> [claim.subject for claim in with_subjects(claims, "A dog runs. It is brown.")]
    ['', 'The dog']
    """
    before, noun = "", ""
    for claim in claims:
        text = claim.of(caption)
        pronoun = _PRONOUN.match(text)
        if pronoun is None or _OF_NOTHING.match(text):
            noun = ""
        else:
            noun = _noun_of(pronoun["pronoun"].lower(), before, noun)
            if noun:
                article = "The" if text[0].isupper() else "the"
                claim = replace(claim, subject=f"{article} {noun}")
        before = text
        yield claim


def _noun_of(pronoun: str, before: str, subject: str) -> str:
    """The noun of the sentence before that the pronoun stands for; `subject`: what that sentence's
    pronoun stands for; "" if none is certain."""
    nouns: Sequence[str] = [subject] if subject else []
    if not subject and before and language_of(before) in ("en", UNKNOWN):
        place = _PLACE_FIRST.match(before)
        nouns = noun_phrases(before[place.end() if place else 0 :])
    for noun in nouns:
        if noun not in _SHOWN and _agrees(pronoun, noun):
            return noun if singular_of(noun) in known_nouns() else ""
    return ""


def _agrees(pronoun: str, noun: str) -> bool:
    if pronoun == "they":
        return is_plural(noun)
    if is_plural(noun):
        return False
    if pronoun == "it":
        return noun not in _PERSONS
    return noun in _PERSONS and noun not in (FEMALE if pronoun == "he" else MALE)
