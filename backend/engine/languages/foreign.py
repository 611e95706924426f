"""Whether a caption is in another language than those that a model reads, by how often its words
are used in each (wordfreq).

Names, titles and captions of one or two words are not called foreign: "Rothenburg ob der Tauber" is
in an English caption as well. A caption is foreign by words in small letters that are no function
words, so a few short captions in a foreign language are missed.
"""

import math
from collections.abc import Mapping
from functools import cache, lru_cache

from backend.engine.languages.identification import (
    LATIN_LANGUAGES,
    LETTERS,
    MIXED,
    UNKNOWN,
    language_of,
)
from backend.engine.languages.language import LANGUAGES, language_by_name

#: Shorter captions in Latin letters are in no language for certain; shorter words may be of names.
_FEWEST_WORDS, _SHORTEST = 3, 4
#: By how much more usual the words are in the other language: the mean of the logarithms, each of
#: which counts up to `_MOST`. A word that is in no list has the share `_UNSEEN`.
_CLEAR, _MOST, _UNSEEN = 1.5, 4.0, 1e-6


@lru_cache(maxsize=10_000)
def foreign_language(text: str, read: frozenset[str]) -> str:
    """The language of a caption, or its letters, as people call it; "" if it may be in one of
    `read`, which are named as by `language_of`, or if there are none: nobody says.

    >>> english = frozenset({"en"})
    >>> foreign_language("Ein Mann liest eine Zeitung", english)
    'German'
    >>> foreign_language("Красный мяч", english), foreign_language("A red ball", english)
    ('Cyrillic letters', '')
    >>> foreign_language("Los Angeles skyline", english)
    ''
    """
    name = language_of(text) if read else ""
    if name in ("", MIXED, *read):
        return ""
    if name == UNKNOWN or name in LATIN_LANGUAGES:
        name = _by_frequency(text, read)
    return called(name) if name else ""


def called(name: str) -> str:
    """What people call a language or a script, which is named as by `language_of`.

    >>> called("de"), called("han"), called("cyrillic")
    ('German', 'Chinese', 'Cyrillic letters')
    """
    language = language_by_name(name)
    return language.name if language.code in LANGUAGES else f"{language.name.capitalize()} letters"


def _by_frequency(text: str, read: frozenset[str]) -> str:
    """The code of the language in which the words are clearly more usual than in those of `read`;
    "" if there is none."""
    words = LETTERS.findall(text.lower() if text.isupper() else text)
    codes = read & LATIN_LANGUAGES
    is_language = any(
        len(word) >= _SHORTEST
        and word.islower()
        and not any(word in _shares(code) for code in codes)
        for word in words
    )
    if len(words) < _FEWEST_WORDS or not is_language:
        return ""
    lower = [word.lower() for word in words]
    logarithms = [
        max((_log_share(word, code) for code in codes), default=math.log(_UNSEEN)) for word in lower
    ]
    clarity = {
        code: sum(
            max(-_MOST, min(_MOST, _log_share(word, code) - usual))
            for word, usual in zip(lower, logarithms, strict=True)
        )
        / len(words)
        for code in sorted(LATIN_LANGUAGES - read)
    }
    best = max(clarity, key=clarity.__getitem__)
    return best if clarity[best] >= _CLEAR else ""


def _log_share(word: str, code: str) -> float:
    return math.log(_shares(code).get(word, 0.0) + _UNSEEN)


@cache
def _shares(code: str) -> Mapping[str, float]:
    """How often each of the usual words of a language is used."""
    from wordfreq import get_frequency_dict

    return get_frequency_dict(code, wordlist="small")
