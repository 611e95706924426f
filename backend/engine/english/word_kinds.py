"""Classification of words; the same kinds classify the errors in captions."""

from collections.abc import Iterable
from functools import lru_cache

from backend.engine.english import word_lists
from backend.engine.english.nouns import form_table, singular_of
from backend.engine.languages.language import ENGLISH, Language

#: In display order; 'other': a word in none of the lists.
WORD_KINDS = (
    "colour", "count", "size", "attribute", "person", "object", "place", "weather", "time",
    "action", "relation", "negation", "other",
)  # fmt: skip
_NEGATIONS = frozenset(["no", "not", "without", "none", "nobody", "nothing", "never", "n't"])


def kind_of(word: str, language: Language = ENGLISH) -> str:
    """One of `WORD_KINDS`; case-insensitive, handles plurals and verb forms."""
    if language is not ENGLISH:
        return language.kinds.get(word.lower(), "other")
    return _kind_of(word.lower())


@lru_cache(maxsize=50_000)
def _kind_of(word: str) -> str:
    for kind, words in _tables().items():
        if word in words:
            return kind
    singular = singular_of(word)
    if singular in word_lists.PEOPLE or singular in word_lists.ROLES or word == "person":
        return "person"
    if any(singular in nouns for nouns in word_lists.NOUNS.values()):
        return "object"
    if singular in word_lists.ON_PLACES or singular in word_lists.IN_PLACES:
        return "place"
    return "action" if word in form_table() else "other"


@lru_cache(maxsize=1)
def _tables() -> dict[str, frozenset[str]]:
    def flat(table: Iterable[Iterable[Iterable[str]]]) -> frozenset[str]:
        return frozenset(word for sides in table for side in sides for word in side)

    relations = {word for phrase in word_lists.RELATIONS for word in phrase.split()}
    return {
        "colour": frozenset(word_lists.COLOURS),
        "count": frozenset({"one", *word_lists.NUMBERS}),
        "size": flat(word_lists.OPPOSITE_SIZES),
        "attribute": flat(word_lists.OPPOSITE_ATTRIBUTES),
        "weather": frozenset(word_lists.WEATHER),
        "time": flat(word_lists.TIMES),
        "relation": frozenset(relations) | flat(word_lists.OPPOSITE_DIRECTIONS),
        "negation": _NEGATIONS,
    }
