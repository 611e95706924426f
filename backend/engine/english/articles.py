"""Articles that agree with the word that follows, and letter case."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from backend.engine.captions import Caption

if TYPE_CHECKING:
    import inflect

#: Acronyms that are read letter by letter although they have vowels.
_SPELLED = frozenset(
    [
        *("atm", "eu", "faq", "hiv", "ibm", "iou", "led", "nba", "sos", "suv", "uae", "uav", "ufo"),
        *("uhd", "uk", "ups", "us", "usa", "usb", "utv", "uv"),
    ]
)
#: Abbreviations without a vowel that are spoken as the whole word.
_SPOKEN_WHOLE = frozenset(["dr", "ft", "hr", "jr", "lb", "mr", "mrs", "ms", "mt", "rd", "sr", "st"])
#: Letters whose names begin with a vowel.
_VOWEL_NAMES = frozenset("aefhilmnorsx")


def article_for(word: str) -> str:
    """ "a" or "an", by the sound of the word, number or acronym that follows.

    >>> article_for("urinal"), article_for("hour"), article_for("18-wheeler"), article_for("SUV")
    ('a', 'an', 'an', 'an')
    """
    plain = unicodedata.normalize("NFKD", word)
    if number := re.match(r"\d+", plain):
        return "an" if _begins_eight_or_eleven(number.group()) else "a"
    letters = re.match("[A-Za-z]*", plain.encode("ascii", "ignore").decode())
    first_part = letters.group() if letters else ""
    if _is_spelled(first_part, word):
        return "an" if first_part[0].lower() in _VOWEL_NAMES else "a"
    # inflect takes longer words in capitals, such as "STREET", for acronyms, too.
    spoken = first_part if first_part.isupper() and len(first_part) < 5 else first_part.lower()
    return _inflect().a(spoken).split()[0] if spoken else "a"


def _begins_eight_or_eleven(digits: str) -> bool:
    """Whether the number is spoken "eight…", "eleven…" or "eighteen…", four digits as a year."""
    return digits[0] == "8" or (
        digits.startswith(("11", "18"))
        and (len(digits) % 3 == 2 or (len(digits) == 4 and digits[:2] != "11"))
    )


def _is_spelled(part: str, word: str) -> bool:
    """Whether the letters at the beginning of `word` are read one by one."""
    lower = part.lower()
    if len(part) == 1:
        return len(word) > 1 or part.isupper()
    if lower == "us":  # "us" is a word
        return part.isupper()
    no_vowel = len(part) > 1 and not re.search("[aeiouy]", lower)
    return lower in _SPELLED or (no_vowel and len(part) < 5 and lower not in _SPOKEN_WHOLE)


@cache
def _inflect() -> "inflect.engine":
    import inflect

    engine = inflect.engine()
    engine.defan("usher.*")
    engine.defan("uber.*")
    engine.defa("ouija.*")
    return engine


def match_case(word: str, model: str) -> str:
    """`word` in the letter case of `model`, the word it replaces.

    >>> match_case("cat", "Dog"), match_case("cat", "DOG"), match_case("cat", "dog")
    ('Cat', 'CAT', 'cat')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def repair_articles(text: str, original: str) -> str:
    """Make "a" and "an" agree with the next word where `original` has another word behind them.

    All other articles are the user's, right or wrong.

    >>> repair_articles("A orange cat and an herb", "A red cat and an herb")
    'An orange cat and an herb'
    """
    original_pairs = {words for _, words in _articles(Caption.parse(original))}
    caption = Caption.parse(text)
    repairs: dict[int, str] = {}
    for i, (article, follower) in _articles(caption):
        fitting = article_for(follower)
        if (article, follower) not in original_pairs and article.lower() != fitting:
            repairs[i] = fitting.upper() if text.isupper() else match_case(fitting, article)
    return caption.replace(repairs) if repairs else text


def _articles(caption: Caption) -> Iterator[tuple[int, tuple[str, str]]]:
    """Each "a" and "an" by its index, with the word it belongs to: neither "Gate A is" nor
    "a, b"."""
    for i, (article, follower) in enumerate(pairwise(caption.words)):
        between = caption.text[caption.spans[i][1] : caption.spans[i + 1][0]]
        is_letter = article == "A" and i > 0 and follower.islower()
        if article.lower() in ("a", "an") and not between.strip(" \t\n\"'“‘«([") and not is_letter:
            yield i, (article, follower)
