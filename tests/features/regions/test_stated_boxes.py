"""Boxes that a source states beside descriptions: which are understood, and what lies in them."""

from typing import Any

import pytest

from backend.features.regions.stated_boxes import StatedBox, compare_with_stated, stated_boxes

#: Ideogram writes the upper edge first, in thousandths of the picture.
DOG = {"type": "obj", "bbox": [500, 0, 1000, 250], "desc": "A big red dog."}
TREE = {"type": "obj", "bbox": [0, 750, 1000, 1000], "desc": "A tree."}
BOX_OF_DOG = (0.0, 0.5, 0.25, 1.0)


@pytest.mark.parametrize(
    "columns",
    [
        {"elements": [DOG]},
        {
            "compositional_deconstruction": {
                "background": "A park.",
                "elements": [DOG, {"desc": "x"}],
            }
        },
        {"objects": [{"label": "A big red dog.", "box_2d": [500, 0, 1000, 250]}]},
    ],
)
def test_published_forms_are_understood(columns: dict[str, Any]) -> None:
    assert stated_boxes({"caption_json": "{}", **columns}) == (
        StatedBox("A big red dog.", BOX_OF_DOG),
    )


@pytest.mark.parametrize(
    "columns",
    [
        {"objects": [DOG]},
        {"elements": [{"desc": "A dog."}]},
        {"elements": [{**DOG, "bbox": [500, 0, 1000]}]},
        {"elements": [{**DOG, "bbox": [500, 0, 400, 250]}]},
        {"elements": [{**DOG, "bbox": [0, 0, 1920, 1080]}]},
        {"elements": [{**DOG, "bbox": ["0", "0", "9", "9"]}]},
        {"elements": [{**DOG, "bbox": [False, False, True, True]}]},
        {"elements": [{**DOG, "bbox": [float("nan"), 0, 500, 500]}]},
        {"elements": [{**DOG, "desc": 7}]},
        {"annotations": [{"description": "A dog.", "bbox": [10, 20, 30, 40]}]},
        {"elements": "no list"},
    ],
)
def test_other_boxes_say_nothing(columns: dict[str, Any]) -> None:
    assert stated_boxes(columns) == ()


def test_deep_and_long_columns_end() -> None:
    deep: Any = {"elements": [DOG]}
    for _ in range(50):
        deep = {"more": [deep]}
    assert stated_boxes({"a": deep}) == ()
    assert 0 < len(stated_boxes({"elements": [DOG] * 10_000})) < 10_000


@pytest.mark.parametrize(
    ("region", "word", "expected"),
    [
        ((0.0, 50.0, 50.0, 100.0), "Dog", True),  # the box is half of the region
        ((10.0, 70.0, 20.0, 90.0), "dog", True),
        ((100.0, 0.0, 200.0, 100.0), "dog", False),
        ((0.0, 0.0, 200.0, 100.0), "red dog", None),
        ((0.0, 0.0, 120.0, 100.0), "red dog", True),
        (None, "dog", None),
        ((0.0, 0.0, 20.0, 10.0), "cat", None),
        ((0.0, 0.0, 20.0, 10.0), "do", None),
        ((0.0, 0.0, 20.0, 10.0), "a", None),
    ],
)
def test_what_speaks_for_a_word_lies_in_the_box_of_its_description(
    region: tuple[float, float, float, float] | None, word: str, expected: bool | None
) -> None:
    boxes = stated_boxes({"elements": [DOG, TREE]})
    stated, is_inside = compare_with_stated(word, region, (200, 100), boxes)
    assert is_inside is expected
    is_named = "dog" in word.lower()
    assert stated == ((0.0, 50.0, 50.0, 100.0) if is_named else None)


def test_of_several_descriptions_the_nearest_counts() -> None:
    boxes = stated_boxes({"elements": [DOG, {**DOG, "bbox": [0, 500, 500, 1000]}]})
    stated, is_inside = compare_with_stated("dog", (110.0, 10.0, 190.0, 40.0), (200, 100), boxes)
    assert (stated, is_inside) == ((100.0, 0.0, 200.0, 50.0), True)
