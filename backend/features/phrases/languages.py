"""How many captions are not English, whose phrases English rules find badly."""

from collections.abc import Collection

from backend.engine.captions import Caption
from backend.engine.languages.identification import MIXED, UNKNOWN, language_of
from backend.engine.phrases.nonce import words


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
