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


@pytest.mark.parametrize("form", ["file", "object"])
@pytest.mark.parametrize("ending", ["", ".png"])
def test_a_name_is_looked_for_in_its_own_split(tmp_path: Path, form: str, ending: str) -> None:
    """`b` is in two other splits, `a` in both, `c` outside of any, `d` in the other alone."""
    for size, name in enumerate(("train/a", "val/a", "val/b", "test/b", "more/c", "val/d")):
        picture(tmp_path / f"{name}.png", (8, 8 + size))
    captions = {f"{name}{ending}": f"A dog. {name}" for name in "abcd"}
    name = "captions_train.json" if form == "file" else "captions.json"
    content = captions if form == "file" else {"train": captions}
    pairs, reader = read(write(tmp_path / name, json.dumps(content)))
    places = [(*Path(str(pair.image_path)).parts[-2:], pair.caption, pair.split) for pair in pairs]
    assert places == [
        ("train", "a.png", "A dog. a", "train"), ("more", "c.png", "A dog. c", "train"),
        ("val", "d.png", "A dog. d", "train"),
    ]  # fmt: skip
    assert [problem.row for problem in reader.problems] == [2]


@pytest.mark.parametrize(
    ("name", "place"), [("captions_testmini2017", "test2017"), ("train", "val2014")]
)
def test_the_only_picture_of_a_name_may_be_in_a_folder_of_another_split(
    tmp_path: Path, name: str, place: str
) -> None:
    picture(tmp_path / place / "x1.jpg")
    pairs, reader = read(write(tmp_path / f"{name}.json", json.dumps({"x1.jpg": "A dog."})))
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert reader.problems == []
    assert any(place in note for note in reader.notes)


def test_a_path_says_its_split_itself(tmp_path: Path) -> None:
    picture(tmp_path / "pictures/val/b.png")
    path = write(tmp_path / "captions_train.json", json.dumps({"val/b": "A dog."}))
    pairs, _ = read(path)
    assert [pair.image_path.name for pair in pairs] == ["b.png"]
