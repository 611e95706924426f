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
    return comparison.faults_of(caption)


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
