"""What shows only beside the other captions."""

import pytest

from backend.features.lint.comparison import Comparison

TAGS = "1girl, solo, long hair, {} eyes, smile, standing, outdoors"
PROSE = "A girl with {} eyes stands in a garden."


def compared(form: str, caption: str) -> list[str]:
    comparison = Comparison()
    for number in range(60):
        comparison.learn(form.format(f"colour{number}"), f"{number}.png")
    comparison.learn(caption, "own.png")
    return comparison.faults_of(caption, "own.png")


@pytest.mark.parametrize(
    ("caption", "is_found"),
    [
        ("1girl solo long hair blue eyes smile standing outdoors", True),
        ("1girl, solo, long hair blue eyes smile standing outdoors dress", True),
        ("1girl, solo, long_hair, blue eyes, smile, standing", False),
        ("1girl, a girl standing in a field of flowers", False),
        ("A girl stands in a garden and smiles.", False),
    ],
)
def test_tags_without_commas_are_found_among_lists(caption: str, is_found: bool) -> None:
    assert ("commas" in compared(TAGS, caption)) == is_found
    assert "commas" not in compared(PROSE, caption)


@pytest.mark.parametrize(
    ("of_each", "of_one", "is_found"),
    [(1, 300, True), (5, 300, True), (1, 25, True), (5, 25, False), (1, 5, False), (90, 90, False)],
)
def test_a_picture_with_far_more_captions_than_the_others_is_found(
    of_each: int, of_one: int, is_found: bool
) -> None:
    comparison = Comparison()
    for picture in range(20):
        for number in range(of_each):
            comparison.learn(PROSE.format(f"colour{picture}-{number}"), f"{picture}.png")
    for number in range(of_one):
        comparison.learn(PROSE.format(f"shade{number}"), "placeholder.png")
    assert ("many captions" in comparison.faults_of(PROSE, "placeholder.png")) == is_found
    assert "many captions" not in comparison.faults_of(PROSE, "3.png")
