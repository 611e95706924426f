"""What a second model's answers say."""

import math

import pytest

from backend.features.vision_language.opinions import p_yes, signs_of, without_suspects


@pytest.mark.parametrize(
    ("likeliest", "expected"),
    [
        ([("Yes", math.log(0.6)), ("No", math.log(0.2))], 0.75),
        ([("Yes", math.log(0.5)), (" yes", math.log(0.1)), ("ĠNO", math.log(0.3))], 0.6 / 0.9),
        # What is not listed is at most as likely as the last that is.
        ([("No", math.log(0.8)), ("The", math.log(0.1))], 0.1 / 0.9),
        ([("The", math.log(0.8)), ("A", math.log(0.2))], None),
        ([("Yes", -math.inf), ("No", 0.0)], 0.0),
        ([("Yes", 5.0), ("No", 5.0)], 0.5),  # no log-probability, but no crash
        # … and as all that is not listed together.
        ([("No", math.log(0.9))], 0.1),
        ([("Yes", math.log(0.999))], 0.999),
        # Yes and no are by far not the likeliest answers.
        ([("<think>", math.log(0.99)), ("Yes", math.log(0.005)), ("No", math.log(0.005))], None),
        ([("The", math.log(0.9)), ("Yes", math.log(0.05))], None),
        ([("Yes", -9999.0)], None),
        ([], None),
    ],
)
def test_p_yes_is_relative_to_both_words(
    likeliest: list[tuple[str, float]], expected: float | None
) -> None:
    assert p_yes(likeliest) == (None if expected is None else pytest.approx(expected))


def test_signs_are_relative_to_the_other_answers() -> None:
    """A model that says yes to everything moves no pair."""
    assert signs_of({1: 0.99, 2: 0.99}) == {1: 0.0, 2: 0.0}
    signs = signs_of({4: 0.9, 5: 0.99, 6: 0.999})
    assert list(signs) == [4, 5, 6]
    assert signs[5] == 0
    assert signs[4] < -1
    assert signs[6] > 1
    assert min(signs_of(dict.fromkeys(range(99), 0.9) | {99: 0.0}).values()) == -3
    assert signs_of({}) == {}


def test_the_most_suspect_words_are_left_out_one_by_one() -> None:
    suspects = [(0, 1, 0.0), (2, 5, 0.9), (6, 9, 0.2), (10, 14, 0.5), (15, 18, 0.1)]
    assert without_suspects("A red dog runs far.", suspects) == [
        (2, 5, "A dog runs far."),
        (10, 14, "A red dog far."),
        (6, 9, "A red runs far."),
    ]
    assert without_suspects("Dog.", [(0, 3, 1.0)]) == []
