"""Captions that name their picture by an id alone: the name of a file without its ending."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import csv_file, json_lines, picture, read, write

ROWS: list[dict[str, Any]] = [{"image_id": str(n), "caption": f"Caption {n}."} for n in range(3)]


def pictures(folder: Path, names: str = "image/{}.png") -> Path:
    for number in range(3):
        picture(folder / names.format(number), (8, 8 + number))
    return folder


@pytest.mark.parametrize("names", ["image/{}.png", "{}.png", "images/{}.jpg", "Images/{}.png"])
@pytest.mark.parametrize("is_text", [True, False])
def test_annotations_without_a_list_of_images_are_paired_by_stem(
    tmp_path: Path, names: str, is_text: bool
) -> None:
    pictures(tmp_path, names)
    rows = ROWS if is_text else [{**row, "image_id": int(row["image_id"])} for row in ROWS]
    write(tmp_path / "filter_cap.json", json.dumps({"annotations": rows}))
    pairs, reader = read(tmp_path)
    captions = {pair.image_path.name.partition(".")[0]: pair.caption for pair in pairs}
    assert captions == {str(number): f"Caption {number}." for number in range(3)}
    assert reader.problems == []


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json"])
def test_tables_name_pictures_by_id_too(tmp_path: Path, kind: str) -> None:
    pictures(tmp_path)
    path = tmp_path / f"captions.{kind}"
    if kind == "csv":
        csv_file(path, ROWS)
    else:
        write(path, json_lines(ROWS) if kind == "jsonl" else json.dumps(ROWS))
    assert [pair.caption for pair in read(path)[0]] == [row["caption"] for row in ROWS]


def test_several_captions_of_an_id_are_several_pairs(tmp_path: Path) -> None:
    pictures(tmp_path)
    rows = [*ROWS, {"image_id": "0", "caption": "Another."}]
    write(tmp_path / "cap.json", json.dumps({"annotations": rows}))
    pairs, reader = read(tmp_path)
    assert len(pairs) == 4
    assert reader.problems == []


def test_a_path_comes_before_an_id(tmp_path: Path) -> None:
    pictures(tmp_path, "{}.png")
    rows = [{"image_id": "9", "file_name": "1.png", "caption": "A dog."}]
    write(tmp_path / "cap.json", json.dumps(rows))
    assert [pair.image_path.name for pair in read(tmp_path / "cap.json")[0]] == ["1.png"]


def test_an_id_that_two_pictures_have_is_reported(tmp_path: Path) -> None:
    pictures(tmp_path)
    picture(tmp_path / "image" / "0.jpg")
    write(tmp_path / "cap.json", json.dumps({"annotations": ROWS}))
    pairs, reader = read(tmp_path)
    assert len(pairs) == 2
    assert [problem.row for problem in reader.problems] == [1]


def test_captions_without_any_name_of_a_picture_are_refused(tmp_path: Path) -> None:
    pictures(tmp_path)
    write(tmp_path / "cap.json", json.dumps({"annotations": [{"caption": "A dog."}]}))
    with pytest.raises(DatasetFormatError):
        read(tmp_path)
