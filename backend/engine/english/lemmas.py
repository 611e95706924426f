"""The canonical form of a word: its inflections and synonyms share it."""

from functools import lru_cache

from backend.engine.english.nouns import singular_of
from backend.engine.english.verbs import form_table

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
