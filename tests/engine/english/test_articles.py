"""Articles: which one a word takes, and which of them a repair may touch."""

import pytest

from backend.engine.english.articles import article_for, repair_articles
from backend.engine.english.shortening import tidy

#: By how the words are pronounced in a dictionary (American English).
AN = """
    apple umbrella uninteresting unopened unidentified uninhabited unimportant urn usher Uber hour
    honest heirloom oven umpire étude x-ray
    8 8th 80 800 8,000 8.5 8-year-old 11 11th 11,000 11-story 18 18-wheeler 18,500 1800s 1890
    FBI MRI LED led SUV suv RV rv LCD HD SOS FAQ NBA MP3 F-16 L-shaped A4 ATM IBM EU
"""
A = """
    dog urinal unit unicycle uniform unique university union United European euro ewe eucalyptus one
    one-way once ukulele utensil usual used useful utility Ouija Ugandan house hotel yacht
    1 7 10 12 100 110 118 180 1,100 1,800 118,000 1990s
    TV UFO ufo USB US UK USA UV NASA FIFA DVD PC CD BMX GPS St Mr U-turn T-shirt STREET MAN
"""


@pytest.mark.parametrize(
    ("article", "words"), [("an", AN.split()), ("a", A.split())], ids=["an", "a"]
)
def test_articles_follow_the_sound(article: str, words: list[str]) -> None:
    assert [word for word in words if article_for(word) != article] == []


@pytest.mark.parametrize(
    ("original", "edited", "repaired"),
    [
        ("A red cat and a dog.", "A orange cat and a dog.", "An orange cat and a dog."),
        ("an apple", "an pear", "a pear"),
        ("Beside an SUV", "Beside an van", "Beside a van"),
        ("A RED CAT", "A ORANGE CAT", "AN ORANGE CAT"),
        ('A "red" cat', 'A "orange" cat', 'An "orange" cat'),
        # The user's own words stay, right or wrong.
        ("An herb and a orange on a mat", "An herb and a orange on a rug", None),
        ("A urinal in an historic house", "A urinal in an historic home", None),
        # Letters, not articles.
        ("Gate A is open", "Gate A opens", None),
        ("option a, apples", "option a, oranges", None),
        ("The cat", "The a", None),
        ("a", "a", None),
        ("", "", None),
    ],
)
def test_only_articles_before_edited_words_are_repaired(
    original: str, edited: str, repaired: str | None
) -> None:
    assert repair_articles(edited, original) == (edited if repaired is None else repaired)


def test_suggestions_leave_the_users_articles() -> None:
    text = "A man stands next to a urinal and an historic sign in a old bathroom."
    assert tidy(text.replace("man stands", "man"), text).endswith(
        "a urinal and an historic sign in a old bathroom."
    )
