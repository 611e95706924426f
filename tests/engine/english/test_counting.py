"""Numbers are compared together with what they count: moving a number to another
thing makes a claim that nobody made."""

import pytest

from backend.engine.captions import Caption
from backend.engine.correction.anchoring import conflicts
from backend.engine.english.counting import counted_in


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("A cat and two big dogs.", ["one cat", "two dogs"]),
        ("Cats with 3 balls and several birds", ["Cats", "three balls", "several birds"]),
        ("A man with no dogs, without a hat", ["one man"]),
        ("A two story house and a couple of cats", ["one house", "cats"]),
        ("A few sheep, two or three dogs", ["few sheep", "dogs"]),
        ("The sheep and jeans", []),
        ("两只狗", []),
    ],
)
def test_what_a_caption_counts(text: str, counted: list[str]) -> None:
    caption = Caption.parse(text)
    listed = [f"{thing.number} {caption.words[thing.head]}" for thing in counted_in(caption)]
    assert [text.strip() for text in listed] == counted


@pytest.mark.parametrize(
    ("proposal", "people", "differing"),
    [
        ("Two cats and a dog.", ["A cat.", "Two dogs."], ["Two cats"]),
        ("Several cats.", ["A cat."], ["Several cats"]),
        ("Three brown dogs.", ["Two dogs."], ["Three"]),
        ("3 dogs.", ["Three dogs."], []),
        ("Two cats.", ["Cats on a wall."], []),
        ("Two men.", ["A man on a horse.", "Men on horses."], []),
        ("Two cats.", ["A black cat and a white cat."], []),
        ("A dog and two balls.", ["A dog."], []),
    ],
)
def test_numbers_that_differ_from_peoples_captions_are_conflicts(
    proposal: str, people: list[str], differing: list[str]
) -> None:
    assert [conflict.word for conflict in conflicts(proposal, people)] == differing
