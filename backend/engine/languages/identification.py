"""The language of a caption, judged from its script and its function words.

It distinguishes the languages of one picture's captions and does not identify every language: a
script of one or a few languages counts as one, and a few nouns in Latin letters belong to none.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from backend.engine.languages.language import ENGLISH, LANGUAGES, Language, language_by_name

#: A caption with this share of its letters in a second script mixes languages.
_SECOND_SCRIPT = 0.25
#: By the first word of a letter's Unicode name; any other is a script by itself.
_SCRIPTS = {"CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana"}
_WORDS = {code: each.identifies for code, each in LANGUAGES.items() if each.identifies}
LETTERS = re.compile(r"[^\W\d_]+")
#: The other way round: the languages of a word.
_LANGUAGES_OF = {
    word: tuple(name for name, words in _WORDS.items() if word in words)
    for words in _WORDS.values()
    for word in words
}
#: Languages identified by their words; the results for a text whose words identify none, and for
#: a text in two scripts.
LATIN_LANGUAGES, UNKNOWN, MIXED = frozenset(_WORDS), "latin", "mixed"


@lru_cache(maxsize=10_000)
def language_of(text: str) -> str:
    """A language's code or a script's name; "latin" if the words identify none, "mixed" for a text
    in two scripts, "" for one without letters.

    >>> language_of("A dog on a bench."), language_of("Ein Hund auf einer Bank.")
    ('en', 'de')
    """
    if text.isascii():
        return _by_words(text) if any(map(str.isalpha, text)) else ""
    scripts: Counter[str] = Counter()
    for letter, number in Counter(text).items():
        if letter.isalpha():
            scripts[_script(letter)] += number
    if "kana" in scripts:  # Japanese has Han characters as well
        scripts["kana"] += scripts.pop("han", 0)
    if not scripts:
        return ""
    (script, _), *others = scripts.most_common()
    if others and others[0][1] >= _SECOND_SCRIPT * scripts.total():
        return MIXED
    return _by_words(text) if script == UNKNOWN else script


def _by_words(text: str) -> str:
    counts = dict.fromkeys(_WORDS, 0)
    for word in LETTERS.findall(text.lower()):
        for name in _LANGUAGES_OF.get(word, ()):
            counts[name] += 1
    first, second = sorted(counts, key=counts.__getitem__, reverse=True)[:2]
    return first if counts[first] > counts[second] else UNKNOWN


def language_in(text: str, otherwise: Language = ENGLISH) -> Language:
    """The language of a caption; `otherwise`, if nothing tells.

    >>> language_in("Un perro en un banco").name, language_in("Zebra").name
    ('Spanish', 'English')
    """
    name = language_of(text)
    return otherwise if name in ("", UNKNOWN, MIXED) else language_by_name(name)


def usual_language(captions: Iterable[str]) -> Language:
    """The language of most captions."""
    names = Counter(map(language_of, captions))
    for unclear in ("", UNKNOWN, MIXED):
        del names[unclear]
    return language_by_name(names.most_common(1)[0][0]) if names else ENGLISH


@lru_cache(maxsize=10_000)
def _script(letter: str) -> str:
    name = unicodedata.name(letter, "").partition(" ")[0]
    return _SCRIPTS.get(name, name.lower())
