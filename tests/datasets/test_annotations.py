"""Karpathy's splits, COCO's captions and MM-IMDb, on small files in their own format."""

import json
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.annotations import split_of
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading import DatasetReader, SourcePair, read_dataset
from backend.errors import DatasetFormatError, DatasetNotFound
from tests.datasets.folders import picture


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def read(reader: DatasetReader) -> list[SourcePair]:
    return list(reader)


def test_karpathys_coco_keeps_every_sentence_and_its_split(tmp_path: Path) -> None:
    images = tmp_path / "coco"
    for folder, name in (("train2014", "a.jpg"), ("val2014", "b.jpg"), ("val2014", "c.jpg")):
        picture(images / folder / name)
    file = write(
        tmp_path / "dataset_coco.json",
        {
            "dataset": "coco",
            "images": [
                {"filepath": "train2014", "filename": "a.jpg", "cocoid": 9, "imgid": 0,
                 "split": "train", "sentences": [{"raw": "A dog."}, {"raw": "A brown dog runs."}]},
                {"filepath": "val2014", "filename": "b.jpg", "cocoid": 11, "imgid": 1,
                 "split": "restval", "sentences": [{"raw": "Two cats."}]},
                {"filepath": "val2014", "filename": "c.jpg", "cocoid": 12, "imgid": 2,
                 "split": "test", "sentences": [{"raw": "A boat."}]},
                {"filepath": "val2014", "filename": "gone.jpg", "cocoid": 13, "imgid": 3,
                 "split": "val", "sentences": [{"raw": "Nothing."}]},
                {"filename": "d.jpg"},
                "no object",
            ],
        },
    )  # fmt: skip
    reader = read_dataset(file, ReadOptions(image_root=images))
    pairs = read(reader)
    assert [(p.id, p.caption, p.split) for p in pairs] == [
        ("9#0", "A dog.", "train"),
        ("9#1", "A brown dog runs.", "train"),
        ("11#0", "Two cats.", "train"),
        ("12#0", "A boat.", "test"),
    ]
    assert [(p.row, p.kind) for p in reader.problems] == [
        (5, "unreadable row"),
        (6, "unreadable row"),
        (4, "missing image"),
    ]


def test_karpathys_flickr30k_has_no_folders(tmp_path: Path) -> None:
    picture(tmp_path / "1.jpg")
    entry = {"filename": "1.jpg", "imgid": 5, "split": "val", "sentences": [{"raw": "A man."}]}
    file = write(tmp_path / "dataset_flickr30k.json", {"images": [entry]})
    (pair,) = read(read_dataset(file))
    assert (pair.id, pair.split, pair.caption) == ("5#0", "validation", "A man.")


def test_each_coco_annotation_becomes_a_pair(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "x.jpg")
    file = write(
        tmp_path / "captions_val2017.json",
        {
            "images": [{"id": 7, "file_name": "x.jpg"}],
            "annotations": [
                {"image_id": 7, "id": 70, "caption": "A red bus."},
                {"image_id": 7, "id": 71, "caption": "A bus in town."},
                {"image_id": 8, "id": 72, "caption": "No such image."},
                ["no object"],
            ],
        },
    )
    reader = read_dataset(file, ReadOptions(image_root=tmp_path / "images"))
    assert [(p.id, p.caption) for p in read(reader)] == [
        ("70", "A red bus."),
        ("71", "A bus in town."),
    ]
    assert [p.row for p in reader.problems] == [3, 4]


def test_mm_imdb_takes_the_plot_outline_and_splits_by_id(tmp_path: Path) -> None:
    films = tmp_path / "mmimdb" / "dataset"
    for number in range(1, 4):
        picture(films / f"000000{number}.jpeg")
    write(films / "0000001.json", {"plot outline": "A thief is caught.", "plot": ["Long."]})
    write(films / "0000002.json", {"plot": ["A farmer leaves.", "Another."]})
    write(films / "0000003.json", {"title": "No plot at all"})
    write(tmp_path / "mmimdb" / "split.json", {"train": []})
    reader = read_dataset(tmp_path / "mmimdb")
    pairs = read(reader)
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
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(DatasetFormatError, match="dataset_coco"):
        list(read_dataset(file))


@pytest.mark.parametrize(
    ("name", "message"),
    [("dataset_coco.json", "cocodataset"), ("flickr30k", "DenotationGraph"), ("mmimdb", "archive")],
)
def test_a_missing_known_dataset_is_reported_with_where_to_get_it(
    tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(DatasetNotFound, match=message):
        read_dataset(tmp_path / name)
    with pytest.raises(DatasetNotFound, match=r"pets'\.$"):
        read_dataset(tmp_path / "pets")


def test_captions_of_an_image_id_that_occurs_twice_are_left_out(tmp_path: Path) -> None:
    """Ids are compared as numbers; an image that is listed twice alike is no conflict."""
    for name in ("red", "blue", "green"):
        picture(tmp_path / f"{name}.jpg")
    images = [(1, "red"), (2, "blue"), (1.0, "green"), (3, "green"), (3, "green")]
    captions = [(1, "red"), (1, "green"), (2.0, "blue"), (3, "green")]
    file = write(
        tmp_path / "captions.json",
        {
            "images": [{"id": id, "file_name": f"{name}.jpg"} for id, name in images],
            "annotations": [
                {"id": number, "image_id": id, "caption": name}
                for number, (id, name) in enumerate(captions)
            ],
        },
    )
    reader = read_dataset(file)
    assert [(p.image_path.name, p.caption) for p in read(reader)] == [
        ("blue.jpg", "blue"), ("green.jpg", "green"),
    ]  # fmt: skip
    assert [p.row for p in reader.problems] == [1, 2]
