"""A JSON object with the captions by the name of their picture."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import picture, read, write


@pytest.mark.parametrize("key", ["{}.png", "{}", "images/{}.png"])
@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("A dog.", 1),
        (["A dog.", "It is red."], 2),
        ({"caption": "A dog."}, 1),
        ({"text": "A dog.", "width": 3}, 1),
        ([{"caption": "A dog."}, {"caption": "It is red."}], 2),
    ],
)
@pytest.mark.parametrize("number", [1, 3])
def test_a_picture_has_a_text_a_list_or_a_record(
    tmp_path: Path, key: str, value: Any, count: int, number: int
) -> None:
    place = tmp_path / ("images" if key.startswith("images") else "")
    names = ["red", "blue", "green"][:number]
    for size, name in enumerate(names):
        picture(place / f"{name}.png", (8, 8 + size))
    write(tmp_path / "captions.json", json.dumps({key.format(name): value for name in names}))
    pairs, reader = read(tmp_path / "captions.json")
    assert len(pairs) == count * number
    assert {pair.image_path.name for pair in pairs} == {f"{name}.png" for name in names}
    assert {pair.caption for pair in pairs} <= {"A dog.", "It is red."}
    assert reader.problems == []


def test_an_object_of_other_things_is_refused(tmp_path: Path) -> None:
    picture(tmp_path / "red.png")
    write(tmp_path / "settings.json", json.dumps({"name": "x", "sizes": [1, 2]}))
    with pytest.raises(DatasetFormatError):
        read(tmp_path / "settings.json")
