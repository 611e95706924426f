"""Karpathy's splits, COCO's captions and MM-IMDb, on small files in their own format."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.reading.annotations import split_of
from backend.errors import DatasetFormatError, DatasetNotFound
from tests.datasets.folders import picture, read, write


def save(path: Path, value: Any) -> Path:
    return write(path, json.dumps(value))


def test_karpathys_coco_keeps_every_sentence_and_its_split(tmp_path: Path) -> None:
    images = [
        ("train2014", "a.jpg", "train", ["A dog.", "A brown dog runs."]),
        ("val2014", "b.jpg", "restval", ["Two cats."]),
        ("val2014", "c.jpg", "test", ["A boat."]),
    ]
    for folder, name, *_ in images:
        picture(tmp_path / "coco" / folder / name)
    images.append(("val2014", "gone.jpg", "val", ["Nothing."]))
    entries: list[Any] = [
        {"filepath": folder, "filename": name, "cocoid": 9 + n, "imgid": n, "split": split,
         "sentences": [{"raw": text} for text in texts]}
        for n, (folder, name, split, texts) in enumerate(images)
    ]  # fmt: skip
    whole = {"dataset": "coco", "images": [*entries, {"filename": "d.jpg"}, "no object"]}
    file = save(tmp_path / "dataset_coco.json", whole)
    pairs, reader = read(file, image_root=tmp_path / "coco")
    assert [(p.id, p.caption, p.split) for p in pairs] == [
        ("9#0", "A dog.", "train"), ("9#1", "A brown dog runs.", "train"),
        ("10#0", "Two cats.", "train"), ("11#0", "A boat.", "test"),
    ]  # fmt: skip
    assert [(p.row, p.kind) for p in reader.problems] == [
        (5, "unreadable row"), (6, "unreadable row"), (4, "missing image"),
    ]  # fmt: skip


def test_karpathys_flickr30k_has_no_folders(tmp_path: Path) -> None:
    picture(tmp_path / "1.jpg")
    entry = {"filename": "1.jpg", "imgid": 5, "split": "val", "sentences": [{"raw": "A man."}]}
    (pair,), _ = read(save(tmp_path / "dataset_flickr30k.json", {"images": [entry]}))
    assert (pair.id, pair.split, pair.caption) == ("5#0", "validation", "A man.")


def coco(path: Path, images: list[tuple[Any, str]], captions: list[tuple[Any, str]]) -> Path:
    """`images`: (id, name of a JPEG); `captions`: (id of an image, text)."""
    annotations: list[Any] = [
        {"id": 70 + number, "image_id": id, "caption": text}
        for number, (id, text) in enumerate(captions)
    ]
    entries = [{"id": id, "file_name": f"{name}.jpg"} for id, name in images]
    return save(path, {"images": entries, "annotations": [*annotations, ["no object"]]})


def test_each_coco_annotation_becomes_a_pair(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "x.jpg")
    captions = [(7, "A red bus."), (7, "A bus in town."), (8, "No such image.")]
    file = coco(tmp_path / "captions_val2017.json", [(7, "x")], captions)
    pairs, reader = read(file, image_root=tmp_path / "images")
    assert [(p.id, p.caption) for p in pairs] == [("70", "A red bus."), ("71", "A bus in town.")]
    assert [p.row for p in reader.problems] == [3, 4]


def test_captions_of_an_image_id_that_occurs_twice_are_left_out(tmp_path: Path) -> None:
    """Ids are compared as numbers; an image that is listed twice alike is no conflict."""
    for name in ("red", "blue", "green"):
        picture(tmp_path / f"{name}.jpg")
    images = [(1, "red"), (2, "blue"), (1.0, "green"), (3, "green"), (3, "green")]
    captions = [(1, "red"), (1, "green"), (2.0, "blue"), (3, "green")]
    pairs, reader = read(coco(tmp_path / "captions.json", images, captions))
    assert [(p.image_path.name, p.caption) for p in pairs] == [
        ("blue.jpg", "blue"), ("green.jpg", "green"),
    ]  # fmt: skip
    assert [p.row for p in reader.problems] == [1, 2, 5]


def test_ids_as_text_are_those_as_numbers_unless_both_occur(tmp_path: Path) -> None:
    for name in ("red", "blue", "green"):
        picture(tmp_path / f"{name}.jpg")
    images = [(0, "red"), ("1", "blue"), (2, "red"), ("2", "green"), (True, "red")]
    captions = [("0", "red"), (1, "blue"), (2, "red"), ("2", "green"), ("00", "no such image")]
    pairs, reader = read(coco(tmp_path / "captions.json", images, captions))
    assert [(Path(p.image_path.name).stem, p.caption) for p in pairs] == [
        ("red", "red"), ("blue", "blue"), ("red", "red"), ("green", "green"),
    ]  # fmt: skip
    assert [p.row for p in reader.problems] == [5, 6]


def test_mm_imdb_takes_the_plot_outline_and_splits_by_id(tmp_path: Path) -> None:
    films = tmp_path / "mmimdb" / "dataset"
    for number in range(1, 4):
        picture(films / f"000000{number}.jpeg")
    save(films / "0000001.json", {"plot outline": "A thief is caught.", "plot": ["Long."]})
    save(films / "0000002.json", {"plot": ["A farmer leaves.", "Another."]})
    save(films / "0000003.json", {"title": "No plot at all"})
    save(tmp_path / "mmimdb" / "split.json", {"train": []})
    pairs, reader = read(tmp_path / "mmimdb")
    assert [(p.id, p.caption) for p in pairs] == [
        ("0000001", "A thief is caught."),
        ("0000002", "A farmer leaves."),
    ]
    assert [p.kind for p in reader.problems] == ["empty caption"]
    assert [p.split for p in pairs] == [split_of(p.id) for p in pairs]
    parts = [split_of(f"{i:07d}") for i in range(4000)]
    assert parts.count("train") / 4000 == pytest.approx(0.8, abs=0.02)
    assert parts.count("test") / 4000 == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize("text", ["", "3", "{}", '{"images": 3}', '{"a": [], "b": []}', "{broken"])
def test_other_json_is_refused_with_the_known_formats(tmp_path: Path, text: str) -> None:
    with pytest.raises(DatasetFormatError, match="dataset_coco"):
        read(write(tmp_path / "x.json", text))


def test_a_missing_known_dataset_is_reported_with_where_to_get_it(tmp_path: Path) -> None:
    for name, message in (
        ("dataset_coco.json", "cocodataset"), ("flickr30k", "DenotationGraph"),
        ("mmimdb", "archive"), ("pets", r"pets'\.$"),
    ):  # fmt: skip
        with pytest.raises(DatasetNotFound, match=message):
            read(tmp_path / name)
