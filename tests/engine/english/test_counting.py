"""Numbers are compared together with what they count: moving a number to another
thing makes a claim that nobody made."""

import pytest

from backend.engine.captions import Caption
from backend.engine.correction.anchoring import conflicts, find_unsupported
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
    ("proposal", "sources", "moved"),
    [
        ("Two cats and a dog.", ["Two dogs.", "A cat."], ["Two cats"]),
        ("A cat and two dogs.", ["Two dogs.", "A cat."], []),
        ("A cat and 2 dogs.", ["Two dogs and a cat."], []),
        ("Several cats and dogs.", ["Several dogs and cats."], ["Several cats"]),
        ("Two big red cats.", ["Two dogs and big red cats."], ["Two big red cats"]),
        # The same things in other words.
        ("Two white puppies.", ["Two dogs.", "A white dog and a puppy."], []),
        ("Two men on a bench.", ["Two people on a bench.", "Men on a bench."], []),
        ("Two men on a bench.", ["Two people.", "A man and a woman on a bench."], ["Two men"]),
        ("Two dogs run.", ["Two animals run.", "Dogs run."], []),
        ("Three dogs.", ["Dogs, three of them."], []),
    ],
)
def test_a_number_does_not_support_another_thing(
    proposal: str, sources: list[str], moved: list[str]
) -> None:
    assert [added.word for added in find_unsupported(proposal, sources)] == moved


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
