"""Pictures that are not where their table says, and columns of no usual name, as published datasets
have them."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backend.errors import DatasetFormatError
from tests.datasets.folders import csv_file, encoded, json_lines, picture, read, write

NUMBERS = (391_895, 522_418)


def token_list(names: list[str]) -> tuple[str, str]:
    lines = [f"{name}#{k}\tCaption {n} {k}." for n, name in enumerate(names) for k in range(2)]
    return "results_20130124.token", "\n".join(lines)


def coco(names: list[str]) -> tuple[str, str]:
    images = [{"id": n, "file_name": name} for n, name in enumerate(names)]
    rows = [{"image_id": n, "caption": f"Caption {n} {k}."} for n in range(2) for k in range(2)]
    return "foil_test_2017.json", json.dumps({"images": images, "annotations": rows})


def karpathy(names: list[str]) -> tuple[str, str]:
    sentences = [[{"raw": f"Caption {n} {k}."} for k in range(2)] for n in range(2)]
    images = [{"filename": n, "sentences": s} for n, s in zip(names, sentences, strict=True)]
    return "dataset_rsicd.json", json.dumps({"images": images})


@pytest.mark.parametrize("table_of", [token_list, coco, karpathy])
@pytest.mark.parametrize("folder", ["flickr30k-images", "RSICD_images/part", "val2014"])
def test_names_that_lack_their_folder(
    tmp_path: Path, table_of: Callable[[list[str]], tuple[str, str]], folder: str
) -> None:
    names = [f"COCO_val2014_{number:012d}.jpg" for number in NUMBERS]
    for size, name in enumerate(names):
        picture(tmp_path / folder / name, (8, 8 + size))
    file, content = table_of(names)
    write(tmp_path / file, content)
    pairs, reader = read(tmp_path)
    places = {(pair.image_path.name, pair.caption[:9]) for pair in pairs}
    assert places == {(name, f"Caption {n}") for n, name in enumerate(names)}
    assert len(pairs) == 4
    assert any(folder in note for note in reader.notes)


@pytest.mark.parametrize("name", ["val2014/COCO_val2014_{:012d}.jpg", "val2017/{:012d}.jpg"])
@pytest.mark.parametrize("kind", ["results", "jsonl", "map"])
@pytest.mark.parametrize("is_text", [True, False])
def test_numbers_of_coco_are_its_pictures(
    tmp_path: Path, name: str, kind: str, is_text: bool
) -> None:
    """What captioners are evaluated by: a list with `image_id` and `caption`."""
    for size, number in enumerate(NUMBERS):
        picture(tmp_path / name.format(number), (8, 8 + size))
    rows = [{"image_id": str(n) if is_text else n, "caption": f"Caption {n}."} for n in NUMBERS]
    by_number = {str(row["image_id"]): row["caption"] for row in rows}
    content = {"results": json.dumps(rows), "jsonl": json_lines(rows), "map": json.dumps(by_number)}
    ending = "jsonl" if kind == "jsonl" else "json"
    write(tmp_path / f"captions_test_results.{ending}", content[kind])
    pairs, _ = read(tmp_path)
    captions = {int(pair.image_path.name[-16:-4]): pair.caption for pair in pairs}
    assert captions == {number: f"Caption {number}." for number in NUMBERS}


@pytest.mark.parametrize("name", ["val2014/COCO_val2014_{:012d}.jpg", "{:012d}.jpg"])
def test_numbers_of_coco_in_a_zip(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "pictures.zip", "w") as archive:
        for size, number in enumerate(NUMBERS):
            archive.writestr(name.format(number), encoded((8, 8 + size), format="JPEG"))
    rows = [{"image_id": number, "caption": f"Caption {number}."} for number in NUMBERS]
    write(tmp_path / "results.json", json.dumps(rows))
    pairs, _ = read(tmp_path / "results.json")
    captions = {int(str(pair.image_path)[-16:-4]): pair.caption for pair in pairs}
    assert captions == {number: f"Caption {number}." for number in NUMBERS}


def test_a_table_takes_no_pictures_of_another(tmp_path: Path) -> None:
    for split in ("train", "test"):
        rows = [{"file_name": f"{n}.png", "caption": f"{split} {n}."} for n in range(2)]
        csv_file(tmp_path / split / "metadata.csv", rows)
    for n in range(2):
        picture(tmp_path / "test" / f"{n}.png", (8, 8 + n))
    pairs, reader = read(tmp_path)
    assert {pair.caption for pair in pairs} == {"test 0.", "test 1."}
    assert {problem.kind for problem in reader.problems} == {"missing image"}


def test_a_picture_of_the_same_name_by_chance_is_none_of_the_table(tmp_path: Path) -> None:
    """A table in somebody's home, most of whose pictures were not downloaded."""
    picture(tmp_path / "Downloads" / "0.png")
    rows = [{"file_name": f"{n}.png", "caption": f"A {n}."} for n in range(3)]
    csv_file(tmp_path / "t.csv", rows)
    pairs, reader = read(tmp_path / "t.csv")
    assert not pairs
    assert {problem.kind for problem in reader.problems} == {"missing image"}


def test_a_folder_of_the_first_rows_is_that_of_all(tmp_path: Path) -> None:
    """A name that is missing there may be another picture elsewhere."""
    picture(tmp_path / "a.png")
    picture(tmp_path / "other" / "b.png", (9, 9))
    rows = [{"file_name": f"{name}.png", "caption": f"A {name}."} for name in "ab"]
    csv_file(tmp_path / "t.csv", rows)
    pairs, reader = read(tmp_path / "t.csv")
    assert [pair.caption for pair in pairs] == ["A a."]
    assert [problem.kind for problem in reader.problems] == ["missing image"]


@pytest.mark.parametrize("name", ["caption_{}", "Caption{}", "text {}", "sentence-{}"])
def test_numbered_captions_are_several_of_a_picture(tmp_path: Path, name: str) -> None:
    picture(tmp_path / "a.png")
    row = {"image": "a.png", "id": "x"} | {name.format(n): f"Caption {n}." for n in (1, 2, 3)}
    csv_file(tmp_path / "t.csv", [row, {**row, name.format(2): "", "id": "y"}])
    pairs, reader = read(tmp_path / "t.csv")
    first = [pair for pair in pairs if pair.id.startswith("x")]
    assert [pair.caption for pair in first] == ["Caption 1.", "Caption 2.", "Caption 3."]
    assert [pair.extra["caption_field"] for pair in first] == [name.format(n) for n in (1, 2, 3)]
    assert len(pairs) == 5
    assert len({pair.id for pair in pairs}) == 5
    assert name.format(2) in " ".join(reader.notes)


@pytest.mark.parametrize(
    "columns",
    [
        {"short_caption": "A dog.", "long_caption": "A black dog."},
        {"image_0": "a.png", "image_1": "b.png", "caption_0": "A dog.", "caption_1": "A cat."},
    ],
)
def test_what_is_open_is_asked(tmp_path: Path, columns: dict[str, Any]) -> None:
    for size, name in enumerate("ab"):
        picture(tmp_path / f"{name}.png", (8, 8 + size))
    image = {} if "image_0" in columns else {"image": "a.png"}
    csv_file(tmp_path / "t.csv", [{**image, **columns}])
    with pytest.raises(DatasetFormatError, match="column"):
        read(tmp_path / "t.csv")


def test_the_only_column_like_captions_is_read(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    csv_file(tmp_path / "t.csv", [{"image": "a.png", "blip_caption": "A dog.", "score": "0.5"}])
    ((pair,), reader) = read(tmp_path / "t.csv")
    assert pair.caption == "A dog."
    assert "blip_caption" in reader.notes[0]


def test_other_columns_are_not_guessed_beside_a_table_with_captions(tmp_path: Path) -> None:
    """LLaVA's own captions lie beside those of the model that it began with."""
    picture(tmp_path / "a.png")
    csv_file(tmp_path / "a.csv", [{"image": "a.png", "caption": "A dog."}])
    csv_file(tmp_path / "b.csv", [{"image": "a.png", "blip_caption": "a dog in a dog"}])
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.file for problem in reader.problems] == ["b.csv"]


@pytest.mark.parametrize("column", ["id", "image/key", "pmc_id"])
def test_a_column_whose_values_name_pictures(tmp_path: Path, column: str) -> None:
    for n in range(2):
        picture(tmp_path / "deep" / str(n) / f"abc{n}.png", (8, 8 + n))
    rows = [{"width": n, column: f"abc{n}", "caption": f"A {n}."} for n in range(2)]
    csv_file(tmp_path / "t.csv", rows)
    pairs, reader = read(tmp_path / "t.csv")
    assert {pair.image_path.name: pair.caption for pair in pairs} == {
        "abc0.png": "A 0.", "abc1.png": "A 1."
    }  # fmt: skip
    assert column in reader.notes[0]


def test_numbers_of_another_column_name_no_pictures(tmp_path: Path) -> None:
    picture(tmp_path / "640.png")
    csv_file(tmp_path / "t.csv", [{"width": 640, "caption": "A dog."}])
    with pytest.raises(DatasetFormatError, match="image path"):
        read(tmp_path / "t.csv")


def test_records_that_name_their_pictures(tmp_path: Path) -> None:
    for n in range(2):
        picture(tmp_path / "imgs" / f"{n}.png", (8, 8 + n))
    records = {f"k{n}": {"image_path": f"imgs/{n}.png", "captions": [f"A {n}."]} for n in range(2)}
    write(tmp_path / "ann.json", json.dumps(records))
    pairs, _ = read(tmp_path / "ann.json")
    assert {pair.image_path.name: pair.caption for pair in pairs} == {
        "0.png": "A 0.", "1.png": "A 1."
    }  # fmt: skip


def test_records_by_picture_whose_caption_has_another_name(tmp_path: Path) -> None:
    """DiffusionDB has the prompt in `p`."""
    picture(tmp_path / "a.png")
    write(tmp_path / "part.json", json.dumps({"a.png": {"p": "A dog.", "se": 1}}))
    with pytest.raises(DatasetFormatError, match="'p'"):
        read(tmp_path / "part.json")
    ((pair,), _) = read(tmp_path / "part.json", caption_column="p")
    assert pair.caption == "A dog."


@pytest.mark.parametrize("file", ["captions.csv", "set/pairs.TSV", "a.jsonlines"])
@pytest.mark.parametrize("folder", ["", "images/"])
def test_the_only_table_of_a_zip_may_have_any_name(tmp_path: Path, file: str, folder: str) -> None:
    rows = [{"image": f"{n}.png", "caption": f"A {n}."} for n in range(2)]
    mark = "\t" if file.endswith("TSV") else ","
    lines = [mark.join(row.values()) for row in ({"": "image", " ": "caption"}, *rows)]
    content = json_lines(rows) if file.endswith("jsonlines") else "\n".join(lines)
    place = file.rpartition("/")[0]
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        for n in range(2):
            archive.writestr(f"{place}/{folder}{n}.png".lstrip("/"), encoded((8, 8 + n)))
        archive.writestr(file, content)
    pairs, reader = read(tmp_path / "set.zip")
    assert [pair.caption for pair in pairs] == ["A 0.", "A 1."]
    assert reader.problems == []


def test_which_of_two_tables_of_a_zip_is_meant_is_asked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.writestr("0.png", encoded())
        for name in ("a.csv", "b.csv"):
            archive.writestr(name, "image,caption\n0.png,A dog.\n")
    with pytest.raises(DatasetFormatError, match="2 other tables"):
        read(tmp_path / "set.zip")
