"""Splits that sources state: every reader and every export keeps them, by one rule."""

import json
from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.splits import split_in, splits_of
from backend.datasets.writing.card import dataset_card
from backend.datasets.writing.dataset_writer import write_dataset
from tests.datasets.folders import (
    csv_file,
    encoded,
    json_lines,
    make_tar,
    picture,
    read,
    write,
    zip_bytes,
)  # fmt: skip
from tests.datasets.writing.test_writing import COUNTS, CREATED

datasets.disable_progress_bars()
#: Names in a source, and the splits as which they are read.
READ = {
    "train": "train", "dev": "validation", "eval": "test", "test-2": "test",
    "val2014": "validation",
    "testmini": "testmini", "minival": "minival", "fold_1": "fold_1",
}  # fmt: skip


def png(name: str) -> bytes:
    return encoded((8 + [*READ].index(name), 8))


def metadata_folders(folder: Path) -> Path:
    for name in READ:
        write(folder / name / "a.png", png(name))
        write(folder / name / "metadata.jsonl", json_lines([{"file_name": "a.png", "text": name}]))
    return folder


def one_metadata_file(folder: Path) -> Path:
    for name in READ:
        write(folder / "images" / name / "a.png", png(name))
    rows = [{"file_name": f"images/{name}/a.png", "text": name} for name in READ]
    write(folder / "metadata.jsonl", json_lines(rows))
    return folder


def sidecars(folder: Path) -> Path:
    for name in READ:
        write(folder / "photos" / name / "x" / "a.png", png(name))
        write(folder / "photos" / name / "x" / "a.txt", name)
    return folder


def tars(folder: Path) -> Path:
    for name in READ:
        make_tar(folder / name / "00000.tar", {"a.png": png(name), "a.txt": name.encode()})
    return folder


def zipped(folder: Path) -> Path:
    members: dict[str, bytes | str] = {}
    for name in READ:
        row = json_lines([{"file_name": "a.png", "text": name}])
        members |= {f"x/{name}/a.png": png(name), f"x/{name}/metadata.jsonl": row}
    return write(folder / "all.zip", zip_bytes(members))


def parquet_folders(folder: Path) -> Path:
    for name in READ:
        (folder / name).mkdir(parents=True)
        pq.write_table(
            pa.table({"image": [png(name)], "text": [name]}), folder / name / "0.parquet"
        )
    return folder


@pytest.mark.parametrize(
    "form", [metadata_folders, one_metadata_file, sidecars, tars, zipped, parquet_folders]
)
def test_every_reader_reads_splits_from_folders_alike(
    tmp_path: Path, form: Callable[[Path], Path]
) -> None:
    pairs, reader = read(form(tmp_path / "source"))
    assert reader.problems == []
    assert {pair.caption: pair.split for pair in pairs} == READ


@pytest.mark.parametrize("ending", [".tar", ".parquet", ".csv", ".jsonl"])
def test_files_named_after_splits_are_splits(tmp_path: Path, ending: str) -> None:
    for name in READ:
        path = tmp_path / f"{name}{ending}"
        picture(tmp_path / f"{name}.png")
        row = {"image": f"{name}.png", "text": name}
        if ending == ".tar":
            make_tar(path, {"a.png": png(name), "a.txt": name.encode()})
        elif ending == ".parquet":
            pq.write_table(pa.table({"image": [png(name)], "text": [name]}), path)
        elif ending == ".csv":
            csv_file(path, [row])
        else:
            write(path, json_lines([row]))
    pairs, _ = read(tmp_path)
    assert {pair.caption: pair.split for pair in pairs} == READ


def test_shards_of_the_hub_and_saved_datasets_keep_the_names_of_their_splits(
    tmp_path: Path,
) -> None:
    names = ["train", "dev", "eval", "minival"]
    by_split = {}
    for name in names:
        table = pa.table({"image": [png(name)], "text": [name]})
        (tmp_path / "clone" / "data").mkdir(parents=True, exist_ok=True)
        pq.write_table(table, tmp_path / "clone" / "data" / f"{name}-00000-of-00001.parquet")
        cells = [{"bytes": png(name), "path": None}]
        by_split[name] = datasets.Dataset.from_dict({"image": cells, "text": [name]})
    datasets.DatasetDict(by_split).save_to_disk(str(tmp_path / "saved"))
    for source in ("clone", "saved"):
        pairs, _ = read(tmp_path / source)
        assert {pair.caption: pair.split for pair in pairs} == {name: name for name in names}
    alone = datasets.Dataset.from_dict({"image": cells, "text": ["x"]}, split="validation")
    alone.save_to_disk(str(tmp_path / "alone"))
    assert [pair.split for pair in read(tmp_path / "alone")[0]] == ["validation"]


def test_cocos_files_state_their_splits(tmp_path: Path) -> None:
    for name in ("val2017", "minival2014"):
        picture(tmp_path / name / "1.jpg")
        coco = {"images": [{"id": 1, "file_name": "1.jpg"}],
                "annotations": [{"id": name, "image_id": 1, "caption": name}]}  # fmt: skip
        write(tmp_path / "annotations" / f"captions_{name}.json", json.dumps(coco))
    pairs, _ = read(tmp_path)
    assert {p.caption: p.split for p in pairs} == {
        "val2017": "validation",
        "minival2014": "minival",
    }
    alone, _ = read(tmp_path / "annotations" / "captions_minival2014.json")
    assert [pair.split for pair in alone] == ["minival"]


def test_folders_beside_none_that_is_a_split_are_none(tmp_path: Path) -> None:
    for name in ("cats", "dogs"):
        write(tmp_path / name / "a.png", encoded())
        write(tmp_path / name / "a.txt", name)
    assert {pair.split for pair in read(tmp_path)[0]} == {None}


def test_a_row_with_a_split_keeps_it_wherever_it_stands(tmp_path: Path) -> None:
    picture(tmp_path / "train" / "a.png")
    rows = [{"file_name": "a.png", "text": text, **split} for text, split in (
        ("own", {"split": "dev"}), ("empty", {"split": ""}), ("without", {}),
    )]  # fmt: skip
    write(tmp_path / "train" / "metadata.jsonl", json_lines(rows))
    splits = {pair.caption: pair.split for pair in read(tmp_path)[0]}
    assert splits == {"own": "dev", "empty": None, "without": "train"}


def test_words_are_those_of_the_loaders() -> None:
    from datasets.data_files import SPLIT_KEYWORDS

    for split, words in SPLIT_KEYWORDS.items():
        assert {split_in(word) for word in words} == {str(split)}
    assert splits_of(["train/test.tar", "train.tar"]) == dict.fromkeys(
        ["train/test.tar", "train.tar"], "train"
    )


@pytest.mark.parametrize("format", ["imagefolder", "sidecar", "coco", "parquet-images",
                                    "webdataset", "huggingface"])  # fmt: skip
def test_an_export_keeps_splits_apart_and_says_what_they_are_called(
    tmp_path: Path, format: str
) -> None:
    image = picture(tmp_path / "source" / "a.png")
    names = [None, "train", "Train", "my-fold", "my fold", "all", "टेस्ट", "é" * 200, "../x", "T"]
    every = [ExportRow(f"p{n}", image, f"A dog {n}.", "", split=s) for n, s in enumerate(names)]
    card = dataset_card(name="d", created_at=CREATED, version="1", facts={}, counts=COUNTS)
    out = tmp_path / "out"
    write_dataset(every, out, format=format, card=card, source_root=tmp_path / "source")
    text = (out / "README.md").read_text("utf-8")
    assert "The split `my-fold` is called `my_fold`." in text
    assert "1 without a split" in text
    pairs, reader = read(out)
    assert (reader.problems, {p.id: p.split for p in pairs}) == (
        [], {f"p{n}": s for n, s in enumerate(names)},
    )  # fmt: skip
    if format == "coco":
        assert len([*out.glob("captions_*.json")]) == len(names) - 1
        return
    load = datasets.load_from_disk if format == "huggingface" else datasets.load_dataset
    loaded = load(str(out))
    assert sorted(map(len, loaded.values())) == [1] * (len(names) - 2) + [2]
    assert {"train", "my_fold", "my_fold_2", "all_pairs", "x", "T"} < loaded.keys()
