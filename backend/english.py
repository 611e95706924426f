"""The little English that several parts share: words that name nothing, articles, letter case."""

import re

#: Words that name nothing: they are wrong only together with another word.
FUNCTION_WORDS = frozenset(
    [
        *("a", "an", "the", "this", "that", "there", "it", "its"),
        *("is", "are", "was", "were", "be", "and", "or", "but", "as"),
        *("of", "in", "on", "at", "by", "with", "for", "from", "to"),
    ]
)

#: Written with a vowel and spoken with a consonant, or the other way round.
_SPOKEN_WITH_CONSONANT = re.compile(r"(?:uni|use|usu|eu|one\b|once|ufo|ukulele|utensil)")
_SPOKEN_WITH_VOWEL = re.compile(r"(?:hour|honest|heir|honou?r)")


def article_for(word: str) -> str:
    """ "a" or "an", by the sound of the word that follows.

    >>> article_for("umbrella"), article_for("unicycle"), article_for("hour"), article_for("dog")
    ('an', 'a', 'an', 'a')
    """
    lower = word.lower()
    if _SPOKEN_WITH_VOWEL.match(lower):
        return "an"
    if _SPOKEN_WITH_CONSONANT.match(lower):
        return "a"
    return "an" if lower[:1] in ("a", "e", "i", "o", "u") else "a"


def match_case(word: str, model: str) -> str:
    """Write `word` in the case of the word it replaces.

    >>> match_case("cat", "Dog"), match_case("cat", "DOG"), match_case("cat", "dog")
    ('Cat', 'CAT', 'cat')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
