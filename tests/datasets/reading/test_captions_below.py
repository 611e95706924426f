"""A JSON object with captions by picture: names without folders or endings, and one level down."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.safe_files.containers import file_of
from backend.errors import DatasetFormatError
from tests.datasets.folders import picture, read, write


@pytest.mark.parametrize("form", ["A dog.", {"caption": "A dog."}, {"text": "A dog.", "size": 3}])
@pytest.mark.parametrize(
    "keys", [("a", "b"), ("a.png", "B.png"), ("a", "deep/b"), (".\\a", "x\\b")]
)
@pytest.mark.parametrize("is_folder", [False, True])
def test_pictures_are_found_in_subfolders_by_the_end_of_their_path(
    tmp_path: Path, form: Any, keys: tuple[str, str], is_folder: bool
) -> None:
    for size, name in enumerate(("x/deep/a.png", "x/deep/b.png")):
        picture(tmp_path / name, (8, 8 + size))
    if keys[1] == "x\\b":
        (tmp_path / "x/deep/b.png").rename(tmp_path / "x/b.png")
    table = write(tmp_path / "captions.json", json.dumps(dict.fromkeys(keys, form)))
    pairs, reader = read(tmp_path if is_folder else table)
    assert sorted(pair.image_path.name for pair in pairs) == ["a.png", "b.png"]
    assert reader.problems == []
    assert reader.notes


def test_what_may_be_several_pictures_is_named_with_all_of_them(tmp_path: Path) -> None:
    for size, name in enumerate(("x/a.png", "y/a.png", "y/b.png")):
        picture(tmp_path / name, (8, 8 + size))
    captions = {"a": "A dog.", "y/a": "A cat.", "b": "A bird.", "gone": "A fish."}
    pairs, reader = read(write(tmp_path / "captions.json", json.dumps(captions)))
    assert [pair.caption for pair in pairs] == ["A cat.", "A bird."]
    assert [(problem.row, problem.kind) for problem in reader.problems] == [
        (1, "unusable row"), (4, "missing image"),
    ]  # fmt: skip
    assert "x/a.png" in reader.problems[0].message
    assert "y/a.png" in reader.problems[0].message


def test_a_picture_beside_the_table_comes_before_others_of_its_name(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    picture(tmp_path / "old/a.png", (8, 8))
    pairs, reader = read(write(tmp_path / "captions.json", json.dumps({"a.png": "A dog."})))
    assert [file_of(pair.image_path) for pair in pairs] == [tmp_path / "a.png"]
    assert reader.problems == []


def test_other_tables_name_their_folders(tmp_path: Path) -> None:
    """Row by row, a file of that name in another folder may be another picture."""
    picture(tmp_path / "train/0001.png")
    pairs, reader = read(write(tmp_path / "val.csv", "file_name,caption\n0001.png,A dog.\n"))
    assert not pairs
    assert [problem.kind for problem in reader.problems] == ["missing image"]


def test_nothing_outside_the_folder_is_found(tmp_path: Path) -> None:
    picture(tmp_path / "outside/a.png")
    (tmp_path / "set/x").mkdir(parents=True)
    (tmp_path / "set/x/a.png").symlink_to(tmp_path / "outside/a.png")
    pairs, reader = read(write(tmp_path / "set/captions.json", json.dumps({"a.png": "A dog."})))
    assert not pairs
    assert len(reader.problems) == 1


def test_pictures_below_the_stated_folder_of_images(tmp_path: Path) -> None:
    picture(tmp_path / "pictures/x/a.png")
    table = write(tmp_path / "texts/captions.json", json.dumps({"a": "A dog."}))
    pairs, _ = read(table, image_root=str(tmp_path / "pictures"))
    assert [pair.caption for pair in pairs] == ["A dog."]


@pytest.mark.parametrize("within", ["images", "captions", "data", "annotations", "labels", "texts"])
@pytest.mark.parametrize(
    "value", ["A dog.", ["A dog."], {"caption": "A dog."}, {"text": "A dog.", "size": 3}]
)
@pytest.mark.parametrize("key", ["a.png", "a", "x/a.png"])
@pytest.mark.parametrize("other", [{}, {"version": 1}, {"info": {"year": 2024}, "tags": ["x"]}])
def test_the_object_may_be_one_level_down(
    tmp_path: Path, within: str, value: Any, key: str, other: dict[str, Any]
) -> None:
    picture(tmp_path / "x/a.png")
    write(tmp_path / "captions.json", json.dumps({**other, within: {key: value}}))
    pairs, reader = read(tmp_path / "captions.json")
    assert [(pair.image_path.name, pair.caption) for pair in pairs] == [("a.png", "A dog.")]
    assert reader.problems == []


def test_an_object_for_each_split(tmp_path: Path) -> None:
    for size, name in enumerate("ab"):
        picture(tmp_path / f"{name}.png", (8, 8 + size))
    captions = {"train": {"a.png": "A dog."}, "val": {"b.png": "A cat."}}
    pairs, _ = read(write(tmp_path / "captions.json", json.dumps(captions)))
    assert [(pair.caption, pair.split, pair.row) for pair in pairs] == [
        ("A dog.", "train", 1), ("A cat.", "validation", 2),
    ]  # fmt: skip


def test_of_several_objects_none_is_guessed(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    captions = {"short": {"a.png": "A dog."}, "long": {"a.png": "A brown dog on a beach."}}
    with pytest.raises(DatasetFormatError) as refusal:
        read(write(tmp_path / "captions.json", json.dumps(captions)))
    assert "short" in str(refusal.value)
    assert "long" in str(refusal.value)


def test_records_that_name_their_picture_keep_it(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    records = {"7": {"file_name": "a.png", "caption": "A dog."}}
    pairs, _ = read(write(tmp_path / "captions.json", json.dumps(records)))
    assert [(pair.id, pair.image_path.name, pair.caption) for pair in pairs] == [
        ("7", "a.png", "A dog.")
    ]
    records = {"a": {"name": "Rex", "caption": "A dog."}}
    pairs, _ = read(write(tmp_path / "captions.json", json.dumps(records)))
    assert [pair.image_path.name for pair in pairs] == ["a.png"]


def test_the_first_of_the_pictures_may_be_gone(tmp_path: Path) -> None:
    picture(tmp_path / "x/a.png")
    captions = {"gone": "A cat.", "a": "A dog."}
    pairs, reader = read(write(tmp_path / "captions.json", json.dumps(captions)))
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.kind for problem in reader.problems] == ["missing image"]
