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


A_DOG, A_CAT = "A dog runs on the {} grass", "A cat sits near a bowl"


@pytest.mark.parametrize("separator", [" | ", "###", ";", "\n", "<sep>", " / ", "\t"])
def test_several_captions_in_one_are_found_where_most_are_so(separator: str) -> None:
    several = f"{A_DOG}{separator}{A_CAT}"
    assert "several captions" in compared(several, several)
    assert "several captions" not in compared(several, A_DOG)
    assert "several captions" not in compared(A_DOG, several), "one among others"


@pytest.mark.parametrize(
    "form",
    [
        "1girl, solo | long hair, {} eyes", "A sign with a | and the word {} on it",
        "Red dress {} | Brand Shop", "A man stands on a {} hill; a dog runs beside him",
        "A man stands on a {} hill.\nA dog runs beside him.", "a red / {} ball on the grass",
    ],
)  # fmt: skip
def test_what_is_one_caption_is_not_several(form: str) -> None:
    assert "several captions" not in compared(form, form)


@pytest.mark.parametrize(
    ("german", "languages"),
    [
        (0, []),
        (10, []),
        (30, [("English", 70), ("German", 30)]),
        (50, [("English", 50), ("German", 50)]),
    ],
)
def test_the_languages_of_a_mixed_dataset_are_counted(
    german: int, languages: list[tuple[str, int]]
) -> None:
    comparison = Comparison()
    for number in range(100):
        text = "Ein Hund läuft auf dem Gras" if number < german else "A dog runs on the grass"
        comparison.learn(text, f"{number}.png")
    assert comparison.languages() == languages
    found = comparison.faults_of("Ein Hund läuft auf dem Gras", "0.png")
    assert ("language" in found) == (german < 20), "where there is a main one"
    assert "language" not in comparison.faults_of("Rothenburg ob der Tauber", "1.png"), "a name"


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


@pytest.mark.parametrize(("pictures", "is_found"), [(2, False), (4, False), (5, True)])
def test_the_same_caption_is_counted_once_for_each_picture(pictures: int, is_found: bool) -> None:
    comparison = Comparison()
    for number in range(20):
        comparison.learn("A dog runs.", f"{number % pictures}.png")
    assert ("same caption" in comparison.faults_of("a dog runs", "0.png")) == is_found
