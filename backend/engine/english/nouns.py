"""Forms of words: singular and plural, forms of verbs, lemmas; and which words of a caption are
nouns.

A lemma is the canonical form of a word: its inflections and synonyms share it.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from backend.engine.english.tagger import tag_words
from backend.engine.english.word_lists import (
    CLOSED_CLASS,
    IN_PLACES,
    NOUNS,
    ON_PLACES,
    PEOPLE,
    VERBS,
)

#: These double their last consonant before -ing and -ed.
_DOUBLING = frozenset(["sit", "run", "swim", "cut", "hit", "drop"])
_PAST = {
    "sit": "sat", "stand": "stood", "lie": "lay", "kneel": "knelt", "sleep": "slept", "run": "ran",
    "swim": "swam", "fly": "flew", "hold": "held", "throw": "threw", "catch": "caught",
    "hit": "hit", "eat": "ate", "cut": "cut", "ride": "rode", "read": "read", "write": "wrote",
    "draw": "drew",
}  # fmt: skip


def forms_of(base: str) -> dict[str, str]:
    """The forms of a verb, by name.

    >>> forms_of("ride")
    {'base': 'ride', 'third': 'rides', 'progressive': 'riding', 'past': 'rode'}
    """
    if base == "lie":
        stem = "ly"
    elif base in _DOUBLING:
        stem = base + base[-1]
    elif base.endswith("e"):
        stem = base[:-1]
    else:
        stem = base
    consonant_y = base.endswith("y") and base[-2:-1] not in ("a", "e", "o")
    if consonant_y:
        third, regular_past = base[:-1] + "ies", base[:-1] + "ied"
    elif base.endswith(("s", "sh", "ch", "x", "z")):
        third, regular_past = base + "es", base + "ed"
    else:
        third, regular_past = base + "s", stem + "ed"
    past = _PAST.get(base, regular_past)
    return {"base": base, "third": third, "progressive": stem + "ing", "past": past}


@cache
def form_table() -> dict[str, tuple[str, str, str]]:
    """Word to (base, form, category). If a word is several forms of one verb, the last one wins:
    "read" and "hit" are treated as past tense, for which the replacements also fit."""
    table: dict[str, tuple[str, str, str]] = {}
    for category, bases in VERBS.items():
        for base in bases:
            for form, word in forms_of(base).items():
                if word not in table or table[word][0] == base:
                    table[word] = (base, form, category)
    return table


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
    nouns = {word for word, is_noun in _tag(words) if is_noun}
    return frozenset(singular_of(word) for word in nouns)


def noun_phrases(text: str) -> list[str]:
    """The last noun of each run of nouns in an English text, as it is written, in lower case.

    >>> noun_phrases("A red fire truck next to two dogs.")
    ['truck', 'dogs']
    """
    heads, inside = list[str](), False
    for word, is_noun in _tag(re.findall(r"\w+", text)):
        is_noun &= form_table().get(word, ("", ""))[1] != "third"  # "a man rides a horse"
        if is_noun:
            heads[len(heads) - inside :] = [word]
        inside = is_noun
    return heads


def _tag(words: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each word in lower case, and whether it is a noun."""
    lower = " ".join(word.lower() for word in words)
    for word, kind in tag_words(lower, tokenize=False):
        yield word, kind.startswith("NN") and word.isalpha() and word not in CLOSED_CLASS


#: Groups of words treated as synonyms; all other words are treated as different.
SYNONYMS = (
    ("man", "guy"), ("woman", "lady"), ("child", "kid"), ("dog", "puppy"), ("cat", "kitten"),
    ("horse", "pony"), ("bicycle", "bike"), ("boat", "sailboat"), ("umbrella", "parasol"),
    ("big", "large", "huge"), ("small", "little", "tiny"), ("sofa", "couch"), ("tv", "television"),
    ("picture", "photo", "photograph", "image", "drawing", "view"), ("road", "street"),
    ("asleep", "sleep"), ("under", "beneath", "underneath"), ("near", "beside"),
    ("hold", "carry", "holding", "carrying", "holds", "carries"), ("rainy", "rain"),
    ("snowy", "snow"), ("sunny", "sunshine"),
    ("night", "dark"), ("above", "over"), ("in", "wear", "wearing", "wears"), ("on", "top"),
)  # fmt: skip


@lru_cache(maxsize=50_000)
def lemma(word: str) -> str:
    """The canonical form shared by a word, its inflections and its synonyms.

    >>> lemma("Dogs"), lemma("puppy"), lemma("riding"), lemma("large")
    ('dog', 'dog', 'ride', 'big')
    """
    lower = word.lower()
    base = form_table()[lower][0] if lower in form_table() else singular_of(lower)
    return _first_synonym().get(base, _first_synonym().get(lower, base))


@lru_cache(maxsize=1)
def _first_synonym() -> dict[str, str]:
    return {word: group[0] for group in SYNONYMS for word in group}
