"""English helpers shared by several modules: function words, articles, letter case."""

import re

from backend.engine.captions import Caption

#: Words without content of their own: they are wrong only together with another word.
FUNCTION_WORDS = frozenset(
    [
        *("a", "an", "the", "this", "that", "there", "it", "its"),
        *("is", "are", "was", "were", "be", "and", "or", "but", "as"),
        *("of", "in", "on", "at", "by", "with", "for", "from", "to"),
    ]
)

#: Closed-class words: they neither are nor describe the subject of a phrase.
CLOSED_CLASS = FUNCTION_WORDS | frozenset(
    [
        *("these", "those", "his", "her", "their", "our", "my", "your", "some"),
        *("any", "no", "each", "every", "without", "onto", "into", "over", "under"),
        *("above", "below", "behind", "beside", "near", "next", "between", "through", "across"),
        *("around", "along", "during", "while", "where"),
        *("who", "which", "he", "she", "they", "we", "i", "you", "him"),
        *(
            "them",
            "here",
            "being",
            "been",
            "has",
            "have",
            "had",
            "do",
            "does",
            "did",
            "not",
            "n't",
            "up",
        ),
        *("down", "out", "off", "so", "than", "then", "too", "also", "just"),
        *("about", "against", "inside", "outside", "front", "top"),
    ]
)

#: Spelled with a vowel but pronounced with a consonant, or vice versa.
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
    """`word` in the letter case of `model`, the word it replaces.

    >>> match_case("cat", "Dog"), match_case("cat", "DOG"), match_case("cat", "dog")
    ('Cat', 'CAT', 'cat')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word


def repair_articles(text: str) -> str:
    """Make "a" and "an" agree with the word that follows.

    >>> repair_articles("A orange cat and an dog")
    'An orange cat and a dog'
    """
    caption = Caption.parse(text)
    repaired: dict[int, str] = {}
    for i, word in enumerate(caption.words[:-1]):
        if word.lower() in ("a", "an"):
            article = article_for(caption.words[i + 1])
            if word.lower() != article:
                repaired[i] = article.capitalize() if word[0].isupper() else article
    return caption.replace(repaired) if repaired else text
