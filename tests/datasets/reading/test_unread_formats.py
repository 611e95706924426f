"""Formats that are not read are named, and no column of theirs is asked for."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.errors import DatasetFormatError, UnsupportedFormat
from tests.datasets.folders import encoded, make_tar, picture, read, write, zip_bytes


@pytest.mark.parametrize(
    ("source", "file", "name"),
    [
        ("", "train.beton", "FFCV"), ("", "train-00000.tfrecord", "TFRecord"),
        ("", "data.mdb", "LMDB"), ("annotations.xml", "annotations.xml", "CVAT"),
        ("all.yaml", "all.yaml", "Energon"), ("all.yml", "all.yml", "Energon"),
    ],
)  # fmt: skip
def test_the_format_is_named(tmp_path: Path, source: str, file: str, name: str) -> None:
    write(tmp_path / file, "x")
    with pytest.raises(UnsupportedFormat) as refusal:
        read(tmp_path / source)
    assert name in str(refusal.value)
    assert not refusal.value.remedies


@pytest.mark.parametrize("stray", ["features.h5", "cache.mdb"])
def test_a_stray_file_beside_captions_is_no_format(tmp_path: Path, stray: str) -> None:
    picture(tmp_path / "a.png")
    write(tmp_path / "a.txt", "A dog.")
    write(tmp_path / stray, "x")
    assert [pair.caption for pair in read(tmp_path)[0]] == ["A dog."]


def test_an_index_of_pictures_is_a_table(tmp_path: Path) -> None:
    picture(tmp_path / "a.png")
    write(tmp_path / "index.json", json.dumps([{"image": "a.png", "caption": "A dog."}]))
    assert [pair.caption for pair in read(tmp_path / "index.json")[0]] == ["A dog."]


def test_texts_and_pictures_in_archives_of_their_own_are_to_be_unpacked(tmp_path: Path) -> None:
    write(tmp_path / "set/images.zip", zip_bytes({"a.png": encoded()}))
    write(tmp_path / "set/captions.zip", zip_bytes({"a.txt": "A dog."}))
    with pytest.raises(DatasetFormatError, match=r"captions\.zip.*unpack"):
        read(tmp_path / "set")


def test_captions_in_a_table_beside_a_tar_of_pictures(tmp_path: Path) -> None:
    make_tar(tmp_path / "images.tar", {"a.png": encoded()})
    rows = pa.table({"file_name": ["a.png"], "caption": ["A dog."]})
    pq.write_table(rows, tmp_path / "captions.parquet")
    (pair,), reader = read(tmp_path)
    assert (pair.caption, reader.problems) == ("A dog.", [])


@pytest.mark.parametrize("pictures", ["a.png", "images/train/0.tar"])
def test_a_tar_of_texts_alone_says_where_pictures_may_be(tmp_path: Path, pictures: str) -> None:
    """Beside loose pictures, and beside tars that lie deeper."""
    make_tar(tmp_path / "texts/0.tar", {"a.txt": b"A dog."})
    if pictures.endswith(".tar"):
        make_tar(tmp_path / pictures, {"a.png": encoded()})
    else:
        picture(tmp_path / pictures)
    pairs, reader = read(tmp_path)
    assert pairs == []
    (problem,) = reader.problems
    assert problem.kind == "no image"
    assert "unpack" in problem.message
    assert "import the folder" in problem.message


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("a.en", "b.en", "a.de", "b.de"), "'a_de.txt'"),
        (("a_de.json", "b_de.json"), "'a.json'"),
        (("a.en.json", "a.de.json", "b.en.json", "b.de.json"), "'a.json'"),
    ],
)
def test_texts_beside_pictures_under_other_names_are_named(
    tmp_path: Path, names: tuple[str, ...], wanted: str
) -> None:
    for name in ("a", "b"):
        picture(tmp_path / f"{name}.png")
    for name in names:
        write(tmp_path / name, '{"caption": "A dog."}' if name.endswith("json") else "A dog.")
    with pytest.raises(DatasetFormatError) as refusal:
        read(tmp_path)
    assert wanted in str(refusal.value)
    assert f"'{min(names)}'" in str(refusal.value)
    pairs, _ = read(tmp_path, uncaptioned=True)
    assert [pair.caption for pair in pairs] == ["", ""]


ROWS = [{"file_name": "photo.png", "caption": "A dog."}]


@pytest.mark.parametrize(
    "content",
    [ROWS, {"captions": ROWS}, {"photo.png": "A dog."}],
    ids=["rows", "rows in an object", "by picture"],
)
@pytest.mark.parametrize("own", ["", "photo_alt.json"])
def test_a_table_that_is_named_after_a_picture_is_read(
    tmp_path: Path, content: object, own: str
) -> None:
    """Also beside the JSON of a picture, which is noted."""
    picture(tmp_path / "photo.png")
    write(tmp_path / "photo_captions.json", json.dumps(content))
    if own:
        write(tmp_path / own, '{"caption": "A cat."}')
    pairs, reader = read(tmp_path)
    assert [(pair.image_path.name, pair.caption) for pair in pairs] == [("photo.png", "A dog.")]
    assert any("photo_alt" in note for note in reader.notes) == bool(own)


#: Files beside a.png, and what their refusal names.
OF_OTHERS = {
    "CVAT": ({"annotations.xml": "x"}, ("metadata.jsonl", "annotations.xml", "CVAT")),
    "names of classes": ({"dataset.yaml": "names: [dog]"}, ("metadata.jsonl",)),
    "list of files": (
        {"trainval.txt": "a.png\n", "notes.txt": "Two\nlines.\n"}, ("metadata.jsonl",)
    ),
    "sheet": ({"t.xlsx": "x", "README.txt": "a.png"}, ("t.xlsx", "Excel")),
    "names and texts": (
        {"images.txt": "a.png\n", "prompts.txt": "A dog.\n"}, ("images.txt", "prompts.txt", "TSV")
    ),
    "labels of YOLO": ({"a.txt": "0 0.5 0.25 1 .1\n12 0.5 1 0 0 1\n"}, ("boxes",)),
    "texts in another folder": ({"captions/a.txt": "A dog."}, ("captions/a.txt",)),
    "LabelMe": (
        {"b.json": '{"shapes": [{"label": "dog"}], "imagePath": "a.png"}'}, ("LabelMe",)
    ),
    "the hub's viewer": ({"rows.json": '{"features": [], "rows": [{"row": {}}]}'}, ("hf:",)),
    "an object with objects": ({"b.json": json.dumps(
        {"image": "a.png", "short_caption": "A dog.", "extra_caption": "A black dog.",
         "masks": {"1": {"caption": "An ear."}}}
    )}, ("'short_caption'",)),
    "addresses": ({"t.csv": "url,text\nhttps://x.org/a.png,A dog.\n"}, ("'url' leads",)),
    "boxes of COCO": ({"instances.json": json.dumps({
        "images": [{"id": 1, "file_name": "a.png"}],
        "annotations": [{"image_id": 1, "category_id": 2, "bbox": [0, 0, 1, 1]}]})}, ("object",)),
}  # fmt: skip


@pytest.mark.parametrize(("files", "named"), OF_OTHERS.values(), ids=OF_OTHERS.keys())
def test_what_has_no_captions_is_named(
    tmp_path: Path, files: dict[str, str], named: tuple[str, ...]
) -> None:
    """Numbers of boxes were captions, and refusals spoke of columns that nobody has."""
    picture(tmp_path / "a.png")
    for name, content in files.items():
        write(tmp_path / name, content)
    with pytest.raises(DatasetFormatError) as refusal:
        read(tmp_path)
    for word in named:
        assert word in str(refusal.value)


def test_a_text_with_the_name_of_its_picture_is_of_one_kind(tmp_path: Path) -> None:
    """It was also a kind of its own, `png`."""
    picture(tmp_path / "a.png")
    write(tmp_path / "a.png.txt", "A dog.")
    write(tmp_path / "a.wd14_tags.txt", "dog, grass")
    (pair,), _ = read(tmp_path)
    assert (pair.caption, pair.extra) == ("A dog.", {"wd14_tags": "dog, grass"})
