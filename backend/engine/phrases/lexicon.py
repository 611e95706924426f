"""Known words: a nonce must neither be one nor contain one.

Combines TextBlob's lexicon (bundled), the word lists of the noise rules, and our own list of names,
brands and dishes that are single tokens in subword vocabularies (`names.txt`). `frequency` is from
a second lexicon, wordfreq (Speer 2022): 321,000 words as they occur in text of many kinds.
"""

from collections.abc import Collection
from functools import cache
from pathlib import Path

from backend.engine.captions import Caption
from backend.engine.english.nouns import known_nouns, plural_of
from backend.engine.english.verbs import form_table
from backend.engine.languages import MIXED, UNKNOWN, language_of

#: Known words of at least this many letters would be recognised inside a nonce.
SHORTEST_WITHIN = 4


@cache
def words() -> frozenset[str]:
    """All words in lower case, about 80,000."""
    from textblob.en import parser

    lexicon = parser.lexicon
    _ = "dog" in lexicon  # a first lookup triggers the lazy loading of its file
    lexicon_words = {str(word).lower() for word in dict.keys(lexicon)}
    names = Path(__file__).with_name("names.txt").read_text(encoding="utf-8").split()
    nouns = {*known_nouns(), *map(plural_of, known_nouns())}
    return frozenset(lexicon_words | set(names) | nouns | set(form_table()))


def means_nothing(text: str, within: bool = True) -> bool:
    """Whether the lower-case text is not a word and (`within`) contains none of 4 or more letters.

    >>> means_nothing("glorptev"), means_nothing("dog"), means_nothing("xdoorx")
    (True, False, False)
    """
    known_words = words()
    if text in known_words:
        return False
    return not within or not any(
        text[start:end] in known_words
        for start in range(len(text) - SHORTEST_WITHIN + 1)
        for end in range(start + SHORTEST_WITHIN, len(text) + 1)
    )


def frequency(word: str) -> float:
    """How often a lower-case word occurs in English text, as a share of all words; 0 if it occurs
    less than once in a hundred million words.

    >>> frequency("pixels") > 1e-6, frequency("glorptev")
    (True, 0.0)
    """
    from wordfreq import get_frequency_dict  # cached, but its first call takes a second

    return float(get_frequency_dict("en", wordlist="large").get(word, 0.0))


def english_share(captions: Collection[str]) -> float:
    """The share of the captions' words that are in the lexicon; 1 if there are no words."""
    known_words = words()
    is_english = [
        word.lower() in known_words or word.lower().removesuffix("'s") in known_words
        for caption in captions
        for word in Caption.parse(caption).words
        if word.isascii() is False or any(map(str.isalpha, word))
    ]
    return sum(is_english) / len(is_english) if is_english else 1.0


def other_languages_share(captions: Collection[str]) -> float:
    """The share of the captions that are not English, among those with letters; 0 if none has any.

    What script and function words leave open is decided by the lexicon: "red boat near shore".
    """
    languages = [(caption, language_of(caption)) for caption in captions]
    is_other = [
        english_share([caption]) < 0.5 if language in (UNKNOWN, MIXED) else language != "en"
        for caption, language in languages
        if language
    ]
    return sum(is_other) / len(is_other) if is_other else 0.0
