"""Singular, plural, and which words of a caption are nouns, by lists and endings."""

from collections.abc import Sequence
from functools import cache

from backend.noise.word_lists import (
    ADJECTIVES,
    FUNCTION_WORDS,
    IN_PLACES,
    NOUNS,
    NUMBERS,
    ON_PLACES,
    PEOPLE,
)

_IRREGULAR = {
    "man": "men",
    "woman": "women",
    "child": "children",
    "person": "people",
    "foot": "feet",
    "knife": "knives",
    "shelf": "shelves",
    "bookshelf": "bookshelves",
    "goose": "geese",
    "mouse": "mice",
    "sheep": "sheep",
    "deer": "deer",
    "fish": "fish",
}
_IRREGULAR_PLURALS = {plural: singular for singular, plural in _IRREGULAR.items()}
_DETERMINERS = frozenset(
    [
        "a",
        "an",
        "the",
        "his",
        "her",
        "its",
        "their",
        "my",
        "our",
        "your",
        "some",
        "several",
        "many",
        "few",
    ]
)


def plural_of(noun: str) -> str:
    """
    >>> plural_of("dog"), plural_of("bus"), plural_of("baby"), plural_of("child")
    ('dogs', 'buses', 'babies', 'children')
    """
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("man"):
        return noun[:-3] + "men"
    if noun.endswith(("s", "sh", "ch", "x", "z")) or noun in ("tomato", "potato", "mango"):
        return noun + "es"
    if noun.endswith("y") and noun[-2:-1] not in ("a", "e", "i", "o", "u"):
        return noun[:-1] + "ies"
    return noun + "s"


@cache
def known_nouns() -> frozenset[str]:
    """Every noun of the word lists, in the singular."""
    listed = {noun for category in NOUNS.values() for noun in category}
    return frozenset(listed | set(PEOPLE) | set(ON_PLACES) | set(IN_PLACES) | {"person"})


@cache
def _singular_by_plural() -> dict[str, str]:
    return {plural_of(noun): noun for noun in known_nouns()} | _IRREGULAR_PLURALS


def singular_of(word: str) -> str:
    """The singular of a known plural; any other word ending in -s, without it.

    >>> singular_of("dogs"), singular_of("women"), singular_of("grass"), singular_of("harbours")
    ('dog', 'woman', 'grass', 'harbour')
    """
    if word in known_nouns():
        return word
    if word in _singular_by_plural():
        return _singular_by_plural()[word]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def is_plural(word: str) -> bool:
    """Whether a known noun stands in the plural (a word alike in both forms: no)."""
    return word not in known_nouns() and word in _singular_by_plural()


def find_nouns(words: Sequence[str]) -> frozenset[str]:
    """The nouns among a caption's words, in the singular and lower case.

    A noun is a word of the lists, or the first word after an article, a possessive or a number that
    is neither an adjective of the lists nor a function word nor ends like a verb or an adverb. This
    finds the nouns that captions are about and misses some bare plurals of rare words.

    >>> sorted(find_nouns("A red harbour with two dogs".split()))
    ['dog', 'harbour']
    """
    lower = [word.lower() for word in words]
    found = {singular_of(word) for word in lower if singular_of(word) in known_nouns()}
    expecting = False
    for word in lower:
        if word in _DETERMINERS or word in NUMBERS:
            expecting = True
        elif expecting and word not in ADJECTIVES:
            expecting = False
            if word.isalpha() and word not in FUNCTION_WORDS and not word.endswith(("ing", "ly")):
                found.add(singular_of(word))
    return frozenset(found)
