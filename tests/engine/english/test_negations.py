"""What captions deny, and whether people deny it."""

import pytest

from backend.engine.captions import Caption
from backend.engine.correction.anchoring import conflicts
from backend.engine.english.negations import denials


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("A red dog with no collar in a park.", ["no collar"]),
        ("A dog without a ball or a hat in a park.", ["without a ball or a hat"]),
        ("A dog with no ball and a hat.", ["no ball"]),
        ("A dog with no red collar.", ["no red collar"]),
        ("A man not riding a horse.", ["not riding"]),
        ("A man who doesn't ride a horse.", ["doesn't ride"]),
        ("A dog that is not very big.", ["not very big"]),
        ("A cat, not a dog.", ["not a dog"]),
        ("None of the dogs are running.", ["None of the dogs"]),
        ("A bench with nobody on it.", ["nobody"]),
        ("A dog in a park.", []),
        ("Is it not", []),
        ("一只没有项圈的狗 no", []),
    ],
)
def test_a_negation_is_read_with_what_it_governs(text: str, denied: list[str]) -> None:
    assert [text[d.start : d.end] for d in denials(Caption.parse(text))] == denied


@pytest.mark.parametrize(
    ("proposal", "people", "word"),
    [
        ("A red dog with no collar in a park.", "A dog with a collar in a park.", "no collar"),
        ("A man not riding a brown horse.", "A man riding a horse.", "not riding"),
        ("A dog without a ball in a park.", "A dog and a ball in a park.", "without a ball"),
        ("A dog that isn't red.", "A red dog.", "isn't red"),
        ("A brown dog with a collar.", "A dog with no collar.", "collar"),
        ("A dog running in a park.", "A dog not running in a park.", "running"),
        ("A cat with a hat and a dog without a hat.",
         "A dog with a hat and a cat without a hat.", "without a hat"),
    ],
)  # fmt: skip
def test_negations_that_differ_from_peoples_captions_are_conflicts(
    proposal: str, people: str, word: str
) -> None:
    assert conflicts(proposal, [people])[0].word == word
    assert conflicts(people, [people]) == []


@pytest.mark.parametrize(
    ("proposal", "people"),
    [
        ("A red dog without a collar.", ["A dog with no collar."]),
        ("A dog with a hat and a cat without a hat.", ["A cat with no hat.", "A dog with a hat."]),
        ("A black cat and a dog that is not black.", ["A dog that is not black."]),
        ("A dog with no cat in sight.", ["A dog."]),  # no caption mentions a cat
        ("A dog with no collar.", ["A dog with a collar.", "A dog with no collar."]),
    ],
)
def test_what_people_deny_may_be_denied(proposal: str, people: list[str]) -> None:
    assert conflicts(proposal, people) == []
