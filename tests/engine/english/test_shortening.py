"""What is left of a caption without some of its words is a sentence, or is not proposed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.engine.captions import Caption
from backend.engine.english.shortening import is_sentence, tidy, without_words

MAN = "A man holding a red umbrella in the rain."
SNOW = "Two white balls with an orange horse in front of mountains on a snowy day."
ROOM = "There are two red chairs in the kitchen and no sheep."


@pytest.mark.parametrize(
    ("text", "gone", "left"),
    [
        # A noun is removed with its article, its modifiers and its preposition.
        ("A tree with a bird in a green field.", "bird field", "A tree."),
        (MAN, "umbrella", "A man in the rain."),
        (SNOW, "mountains", "Two white balls with an orange horse on a snowy day."),
        (ROOM, "sheep", "There are two red chairs in the kitchen."),
        ("A fire hydrant next to a parked car", "hydrant", "A parked car"),
        ("The cat is sleeping on the sofa.", "sofa", "The cat is sleeping."),
        # What describes a noun is removed with it.
        (SNOW, "balls", "An orange horse in front of mountains on a snowy day."),
        ("A dog, running on the grass.", "dog", "The grass."),
        # A modifier is removed alone; articles stay, and are made to agree.
        ("A red dog on grass", "A red", "A dog on grass"),
        ("An orange cat", "orange", "A cat"),
        (ROOM, "no", "There are two red chairs in the kitchen and sheep."),
        # A relation is removed alone: both things stay.
        ("A green bus above a kite on a snowy day.", "above",
         "A green bus and a kite on a snowy day."),
        ("A fire hydrant next to a parked car", "next", "A fire hydrant and a parked car"),
        (MAN, "holding", "A man and a red umbrella in the rain."),
        # A preposition may govern two things.
        ("A picture of a dog and a cat in the park", "dog", "A picture of a cat in the park"),
        ("A picture of a dog and a cat in the park", "cat park", "A picture of a dog"),
        ("a dog, a cat and a bird", "bird", "a dog, a cat"),
    ],
)  # fmt: skip
def test_a_shortened_caption_is_a_sentence(text: str, gone: str, left: str) -> None:
    caption = Caption.parse(text)
    removed = [i for i, word in enumerate(caption.words) if word in gone.split()]
    assert len(removed) == len(gone.split())
    assert without_words(caption, removed) == left


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        (ROOM, "chairs"),  # "There are the kitchen"
        ("Joy", "Joy"),
        ("A dog.", "A"),  # nothing would change
        ("一只红色的狗", "红"),  # the rules do not cover it
        ("", ""),
    ],
)
def test_a_remainder_that_cannot_be_a_sentence_is_not_proposed(text: str, gone: str) -> None:
    caption = Caption.parse(text)
    removed = [i for i, word in enumerate(caption.words) if word in gone.split()]
    assert without_words(caption, removed) is None


@pytest.mark.parametrize(
    "text",
    ["A dog on grass", "There are two dogs.", "Dog", "A sunny day at the beach", "red", MAN, SNOW,
     ROOM, "A man riding a wave on top of a surfboard.", "In the park, a dog is running.",
     "View of the city at night", "All the dogs", "A cat in the living room", "Dogs swimming",
     "一只红色的狗"],
)  # fmt: skip
def test_sentences_are_recognised(text: str) -> None:
    assert is_sentence(text)


@pytest.mark.parametrize(
    "text",
    ["A tree with a in a green in", "of a dog", "A and a cat", "A man with his two dogs is",
     "The the dog", "A dog in", "In the living, a box.", "A dining and a cat",
     "and a cat", "A dog and", "…", ""],
)  # fmt: skip
def test_fragments_are_not_sentences(text: str) -> None:
    assert not is_sentence(text)


@pytest.mark.parametrize(
    "text",
    ["A wearing blue outfit a red apple the sea", "A red apple the sea", "A dog a park",
     "Two balls the table", "A man blue shirt", "A dog two cats", "A man young woman",
     "A man his dog",
     "A bird some trees", "A man no hat", "It a dog", "A woman him", "A dog sunny day",
     "A bus is red the street", "A tree a bird in a green field", "In the park a dog the bench",
     "There is a dog a bench", "A woman holding a cat the sofa",
     "A cat the dog sleeps on the bench",
     "Trees the lake", "A sunny day the lake"],
)  # fmt: skip
def test_noun_phrases_beside_each_other_are_no_sentence(text: str) -> None:
    assert not is_sentence(text)


@pytest.mark.parametrize(
    "text",
    ["A man gives the dog a bone", "A man hands a woman a hot dog", "A man calls the dog a friend",
     "The girl I saw smiles", "The ball the boy throws is red", "A dog the man is walking",
     "A place we will never forget", "The man himself", "A man that is riding a horse",
     "The men all wear hats", "In the park a dog is running", "In front of the house a dog",
     "On a sunny day two dogs run", "One day a man walked here", "A man walks his dog every day",
     "A dog the size of a horse", "A tree ten meters high", "A man riding his bike the wrong way",
     "A dog licks the plate", "A man parks the car", "Two men board a plane",
     "A woman wearing a navy blue jacket", "A light brown dog on grass", "A park bench",
     "Two dogs, one black",
     "A dog, a cat and a bird", "A sign that says no parking", "a door open wide"],
)  # fmt: skip
def test_noun_phrases_that_belong_together_are_sentences(text: str) -> None:
    assert is_sentence(text)


def test_tidied_text_begins_and_ends_as_the_caption_does() -> None:
    assert tidy("dog , on a orange mat,", "A dog.") == "Dog, on an orange mat."
    assert tidy("dog", "a dog!") == "dog!"
    assert tidy("A dog.", "A dog") == "A dog."
    assert tidy(" ,. ", "A dog.") == ""


WORDS = st.sampled_from(
    ["a", "the", "two", "red", "big", "dog", "cats", "grass", "table", "in", "on", "with", "of",
     "and", "is", "are", "no", "sitting", "next", "to", "front", "behind", "holding", ",", "."]
)  # fmt: skip


@given(st.lists(WORDS, max_size=14), st.sets(st.integers(0, 13)))
def test_any_words_give_a_sentence_or_nothing(words: list[str], gone: set[int]) -> None:
    caption = Caption.parse(" ".join(words))
    text = without_words(caption, {i for i in gone if i < len(caption)})
    assert text is None or (is_sentence(text) and text != caption.text)
