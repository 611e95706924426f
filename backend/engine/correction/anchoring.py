"""Find unsupported claims in a richer caption, without a model.

A proposal is *anchored* in its sources if its content words occur in them: the same word, another
form of it, or a synonym from the word list. Numbers and negations must match exactly. If the
proposal and the human captions disagree about an object, the human captions win.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from backend.engine.captions import Caption
from backend.engine.english import FUNCTION_WORDS
from backend.engine.noise.nouns import singular_of
from backend.engine.noise.verbs import form_table
from backend.engine.noise.word_kinds import kind_of

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
#: Attribute kinds of which an object has only one value each.
_EXCLUSIVE = ("colour", "count", "size")
_EXACT = ("count", "negation")


@dataclass(frozen=True)
class Unanchored:
    """Characters `start:end` of a proposal, the word, and why it is removed or rejected."""

    start: int
    end: int
    word: str
    why: str


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


def content_words(text: str) -> list[tuple[int, int, str]]:
    """(start, end, word) of each content word."""
    caption = Caption.parse(text)
    return [
        (start, end, word)
        for (start, end), word in zip(caption.spans, caption.words, strict=True)
        if word.lower() not in FUNCTION_WORDS
    ]


def unsupported(proposal: str, sources: Iterable[str]) -> list[Unanchored]:
    """Content words of the proposal that occur in no source.

    >>> [one.word for one in unsupported("A dog on a wooden bench", ["a dog", "the benches"])]
    ['wooden']
    """
    words = [word for text in sources for _, _, word in content_words(text)]
    exact, lemmas = {word.lower() for word in words}, {lemma(word) for word in words}
    unanchored = []
    for start, end, word in content_words(proposal):
        known = word.lower() in exact or (kind_of(word) not in _EXACT and lemma(word) in lemmas)
        if not known:
            unanchored.append(
                Unanchored(start, end, word, f"adds a word that no person wrote: '{word}'")
            )
    return unanchored


def anchored_share(proposal: str, sources: Iterable[str]) -> float:
    """The share of content words that occur in a source; 1 if there are none."""
    count = len(content_words(proposal))
    return 1 - len(unsupported(proposal, sources)) / count if count else 1.0


def conflicts(proposal: str, human: Sequence[str]) -> list[Unanchored]:
    """Attributes in the proposal that contradict the human captions of the same object.

    >>> conflicts("A blue dog and a red ball", ["A brown dog."])[0].word
    'blue'
    """
    attributes: dict[tuple[str, str], set[str]] = {}
    for text in human:
        for noun, kind, _, _, word in _qualities(text):
            attributes.setdefault((noun, kind), set()).add(lemma(word))
    return [
        Unanchored(start, end, word, f"people describe the {noun} differently")
        for noun, kind, start, end, word in _qualities(proposal)
        if (noun, kind) in attributes and lemma(word) not in attributes[noun, kind]
    ]


def _qualities(text: str) -> Iterable[tuple[str, str, int, int, str]]:
    """Yield (noun, kind, start, end, attribute) for the attributes directly before each noun."""
    caption = Caption.parse(text)
    words = caption.words
    for place, word in enumerate(words):
        if kind_of(word) not in ("object", "person"):
            continue
        before = place - 1
        while before >= 0 and kind_of(words[before]) in (*_EXCLUSIVE, "attribute"):
            kind = kind_of(words[before])
            if kind in _EXCLUSIVE:
                yield lemma(word), kind, *caption.spans[before], words[before]
            before -= 1
