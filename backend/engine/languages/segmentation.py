"""Words in scripts without spaces: Chinese and Japanese.

The most likely division by how often words are used (wordfreq, which the program has anyway), and
the words of the language's own file: those are always words, so that "一只" is a number and what
counts, and "红色" is a colour. Nothing is learnt from the captions; what is in neither list is
divided into characters, as is most traditional writing.
"""

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache

from backend.engine.languages.language import LANGUAGES

_KANA = re.compile("[\u3040-\u30ff]")
#: The longest word that is looked for, in characters.
_LONGEST = 8
#: How often a function word or a number of the language's own file is used, at least, and another
#: of its words; a character that is in neither list.
_FUNCTION, _LISTED, _UNSEEN = 0.1, 1e-2, 1e-8


def script_language(text: str) -> str:
    """ "ja" for a text with kana, or else "zh"."""
    return "ja" if _KANA.search(text) else "zh"


@lru_cache(maxsize=50_000)
def words_of_run(run: str, language: str) -> tuple[str, ...]:
    """A run of Han characters and kana, divided into words. `language`: "zh" or "ja".

    >>> words_of_run("一只红色的狗坐在长椅上", "zh")
    ('一', '只', '红色', '的', '狗', '坐', '在', '长椅', '上')
    >>> words_of_run("赤い自転車に乗る男性", "ja")
    ('赤い', '自転車', 'に', '乗る', '男性')
    """
    weights = _weights(language)
    best = [0.0] + [-math.inf] * len(run)
    start = [0] * (len(run) + 1)
    for end in range(1, len(run) + 1):
        for first in range(max(0, end - _LONGEST), end):
            weight = weights.get(run[first:end])
            if weight is None:
                if end - first > 1:
                    continue
                weight = math.log(_UNSEEN)
            if best[first] + weight > best[end]:
                best[end], start[end] = best[first] + weight, first
    words: list[str] = []
    end = len(run)
    while end:
        words.append(run[start[end] : end])
        end = start[end]
    return tuple(reversed(words))


@cache
def _weights(language: str) -> Mapping[str, float]:
    """The logarithm of how often each word is used."""
    from wordfreq import get_frequency_dict

    shares = {
        word: share
        for word, share in get_frequency_dict(language, wordlist="large").items()
        if len(word) <= _LONGEST
    }
    of_language = LANGUAGES[language]
    for word in of_language.words:
        frequent = word in of_language.function_words or of_language.kinds[word] == "count"
        shares[word] = max(shares.get(word, 0.0), _FUNCTION if frequent else _LISTED)
    return {word: math.log(share) for word, share in shares.items()}
