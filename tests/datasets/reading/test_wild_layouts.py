"""Layouts that other programs write, as people share them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.writing.export_images import image_and_ending
from tests.datasets.folders import encoded, json_lines, picture, read, write, zip_bytes

PAIRS = [("A dog.", "a.png"), ("A cat.", "b.png")]


def dump(value: Any) -> str:
    return json.dumps(value)


def swift(caption: str, image: str) -> dict[str, Any]:
    return {"query": "<image>What is it?", "response": caption, "images": [image]}


def one_row(captions: list[str], images: list[str]) -> dict[str, Any]:
    return {"images": images, "captions": captions}


#: By the program: the file, and its text.
FILES: dict[str, tuple[str, str | bytes]] = {
    "json lines": ("a.jsonlines", json_lines([{"file_name": i, "caption": c} for c, i in PAIRS])),
    "kohya": ("meta_cap.json", dump({i.removesuffix(".png"): {"caption": c, "tags": "x"}
                                     for c, i in PAIRS})),
    "kohya, whole paths": ("meta.json", dump({f"C:\\train\\{i}": {"tags": c} for c, i in PAIRS})),
    "captions by name": ("captions.json", dump({i: c for c, i in PAIRS})),
    "excel": ("a.csv", "sep=;\nimage;caption\n" + "".join(f"{i};{c}\n" for c, i in PAIRS)),
    "no header": ("a.tsv", "".join(f"{i}\t{c}\n" for c, i in PAIRS)),
    "no header, caption first": ("a.tsv", "".join(f"{c}\t{i}\n" for c, i in PAIRS)),
    "names without ending": ("a.csv", "image,caption\na,A dog.\nb.png,A cat.\n"),
    "swift": ("a.jsonl", json_lines([swift(c, i) for c, i in PAIRS])),
    "coco, ids as text": ("captions.json", dump({
        "images": [{"id": n, "file_name": i} for n, (_, i) in enumerate(PAIRS)],
        "annotations": [{"id": f"{n}", "image_id": f"{n}", "caption": c}
                        for n, (c, _) in enumerate(PAIRS)],
    })),
    "roco": ("traindata.csv", "id,name,caption\n" + "".join(
        f"ROCO_{n},{i},{c}\n" for n, (c, i) in enumerate(PAIRS))),
    "textcaps": ("TextCaps_0.1_train.json", dump({
        "dataset_name": "textcaps",
        "data": [{"image_id": i, "image_path": i, "caption_str": c} for c, i in PAIRS],
    })),
    "several images, a caption each": (
        "a.jsonl", json_lines([one_row([c for c, _ in PAIRS], [i for _, i in PAIRS])]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("program", FILES)
def test_captions_are_with_their_pictures(tmp_path: Path, program: str) -> None:
    name, text = FILES[program]
    for _, image in PAIRS:
        picture(tmp_path / image)
    write(tmp_path / name, text)
    pairs, reader = read(tmp_path / name)
    assert sorted((p.caption, Path(str(p.image_path)).name) for p in pairs) == sorted(PAIRS)
    assert reader.problems == []


def fiftyone(folder: Path) -> Path:
    for _, image in PAIRS:
        picture(folder / "data" / image)
    labels = {image.removesuffix(".png"): caption for caption, image in PAIRS}
    write(folder / "labels.json", dump({"classes": [], "labels": labels}))
    return folder


def fiftyone_samples(folder: Path) -> Path:
    """A dataset as FiftyOne's own format exports it."""
    for _, image in PAIRS:
        picture(folder / "data" / image)
    samples = [
        {"_id": {"$oid": f"{n:024x}"}, "filepath": f"data/{image}", "tags": ["train"],
         "caption": {"_id": {"$oid": f"{n:024x}"}, "_cls": "Classification", "label": caption}}
        for n, (caption, image) in enumerate(PAIRS)
    ]  # fmt: skip
    write(folder / "metadata.json", dump({"name": "set", "media_type": "image"}))
    write(folder / "samples.json", dump({"samples": samples}))
    return folder


def onetrainer(folder: Path) -> Path:
    for caption, image in PAIRS:
        picture(folder / image)
        picture(folder / image.replace(".png", "-masklabel.png"))
        write(folder / image.replace(".png", ".txt"), caption)
    return folder


def zipped_texts(folder: Path) -> Path:
    members = {f"set/{image}": encoded() for _, image in PAIRS}
    texts = {f"set/{image[:-4]}.txt": caption.encode() for caption, image in PAIRS}
    write(folder / "set.zip", zip_bytes({**members, **texts}))
    return folder / "set.zip"


def shared_bytes(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    images = pa.array([encoded(), encoded()]).dictionary_encode()
    table = pa.table({"image": images, "caption": [caption for caption, _ in PAIRS]})
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def textcaps(folder: Path) -> Path:
    """As TextCaps is shared: pictures in `train_images`, paths of `train` without an ending."""
    rows = [{"image_id": i[:-4], "image_path": f"train/{i[:-4]}", "caption_str": c}
            for c, i in PAIRS]  # fmt: skip
    for _, image in PAIRS:
        picture(folder / "train_images" / image)
    return write(folder / "TextCaps_0.1_train.json", dump({"data": rows}))


@pytest.mark.parametrize(
    "layout", [textcaps, fiftyone, fiftyone_samples, onetrainer, zipped_texts, shared_bytes]
)
def test_whole_folders_and_containers_are_read(
    tmp_path: Path, layout: Callable[[Path], Path]
) -> None:
    pairs, reader = read(layout(tmp_path / "source"))
    assert sorted(pair.caption for pair in pairs) == sorted(caption for caption, _ in PAIRS)
    assert all(image_and_ending(pair.image_path)[1] == ".png" for pair in pairs)
    assert reader.problems == []


def test_several_images_with_one_caption_are_no_pair(tmp_path: Path) -> None:
    rows = [
        {"images": ["a.png"], "caption": "A dog."},
        {"images": ["a.png", "b.png"], "caption": "A dog and a cat."},
    ]
    picture(tmp_path / "a.png")
    write(tmp_path / "a.jsonl", json_lines(rows))
    pairs, reader = read(tmp_path / "a.jsonl")
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [2]


@pytest.mark.parametrize(
    ("labels", "classes", "captions"),
    [
        ({"a": ["A dog.", "A cat."], "b": ["A bird."]}, None, ["A dog.", "A cat.", "A bird."]),
        ({"a": 0, "b": [1, 0]}, ["A dog.", "A cat."], ["A dog.", "A cat.", "A dog."]),
        ({"a": {"label": "A dog.", "confidence": 0.5}, "b": [{"label": 0}]}, ["A cat."],
         ["A dog.", "A cat."]),
        ({"a": "A dog.", "b": []}, None, ["A dog."]),
        ({"a": 0, "b": 3}, ["A dog."], ["A dog."]),
    ],
)  # fmt: skip
def test_every_label_of_fiftyone_is_a_caption(
    tmp_path: Path, labels: dict[str, Any], classes: list[str] | None, captions: list[str]
) -> None:
    for name in ("a", "b"):
        picture(tmp_path / "data" / f"{name}.png")
    write(tmp_path / "labels.json", dump({"classes": classes, "labels": labels}))
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == captions
    pictures = {Path(str(pair.image_path)).stem for pair in pairs}
    assert len(reader.problems) == 2 - len(pictures)


def test_the_number_of_no_class_of_fiftyone_is_no_caption(tmp_path: Path) -> None:
    for name in ("a", "b"):
        picture(tmp_path / "data" / f"{name}.png")
    labels = {"a": [0, 3, {"label": "A cat."}], "b": [{"label": 7}]}
    write(tmp_path / "labels.json", dump({"classes": ["A dog."], "labels": labels}))
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog.", "A cat."]
    assert [problem.row for problem in reader.problems] == [1, 2]
