"""Singular and plural, and which words of a caption are nouns."""

from collections.abc import Sequence
from functools import cache

from backend.engine.english.function_words import CLOSED_CLASS
from backend.engine.english.word_lists import IN_PLACES, NOUNS, ON_PLACES, PEOPLE

_IRREGULAR = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet",
    "knife": "knives", "shelf": "shelves", "bookshelf": "bookshelves", "goose": "geese",
    "mouse": "mice", "sheep": "sheep", "deer": "deer", "fish": "fish",
}  # fmt: skip
_IRREGULAR_PLURALS = {plural: singular for singular, plural in _IRREGULAR.items()}


def plural_of(noun: str) -> str:
    """The plural of an English noun.

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
    nouns = {noun for category in NOUNS.values() for noun in category}
    return frozenset(nouns | set(PEOPLE) | set(ON_PLACES) | set(IN_PLACES) | {"person"})


@cache
def _singular_by_plural() -> dict[str, str]:
    return {plural_of(noun): noun for noun in known_nouns()} | _IRREGULAR_PLURALS


#: Singulars in -ie other than those of `known_nouns`.
_IN_IE = frozenset(
    (
        *("birdie", "boogie", "brownie", "calorie", "doggie", "genie", "goalie", "hoodie"),
        *("lassie", "magpie", "pixie", "prairie", "rookie", "selfie", "smoothie", "veggie"),
        "zombie",
    )
)


def singular_of(word: str) -> str:
    """The singular of a known plural; other words lose a final -s (but not -ss, -us, -is), and end
    in -y for -ies.

    >>> singular_of("dogs"), singular_of("women"), singular_of("grass"), singular_of("harbours")
    ('dog', 'woman', 'grass', 'harbour')
    >>> singular_of("ponies"), singular_of("selfies")
    ('pony', 'selfie')
    """
    if word in known_nouns():
        return word
    if word in _singular_by_plural():
        return _singular_by_plural()[word]
    if len(word) > 4 and word.endswith("ies") and word[:-1] not in _IN_IE:
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def is_plural(word: str) -> bool:
    """Whether a word is the plural of a known noun; False if singular and plural are the same."""
    return word not in known_nouns() and word in _singular_by_plural()


def find_nouns(words: Sequence[str]) -> frozenset[str]:
    """The nouns among a caption's words, in the singular and lower case.

    Uses TextBlob's tagger, a lexicon with rules that needs no download. As in all such taggers,
    unknown words count as nouns unless they end like a verb or an adverb.

    >>> sorted(find_nouns("A red harbour with two dogs".split()))
    ['dog', 'harbour']
    """
    from textblob.en import tag  # takes 2 s to import, and only swaps need it

    lower = [word.lower() for word in words]
    tagged = tag(" ".join(lower), tokenize=False)
    nouns = {word for word, kind in tagged if kind.startswith("NN") and word.isalpha()}
    return frozenset(singular_of(word) for word in nouns if word not in CLOSED_CLASS)
