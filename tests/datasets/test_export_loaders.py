"""Every export format, read by the loader that people use for it, and by our own reader."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import webdataset
from PIL import Image
from pycocotools.coco import COCO

from backend.datasets.card import dataset_card
from backend.datasets.export_images import image_and_ending
from backend.datasets.export_row import ExportRow
from backend.datasets.images import image_size
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading import SourcePair, read_dataset
from backend.datasets.writing import FORMATS, write_dataset
from tests.datasets.folders import encoded, make_tar, picture
from tests.datasets.test_writing import COUNTS, CREATED
from tests.fixtures.sizes import Sizes

CAPTIONS = ["A dog.", "=1+1", " two  spaces ", "new\nline", "犬 🐕", "2020-01-01", "<b>", "A cat."]
#: Columns of a source that collide with ours, or with names that a loader interprets.
ODD = {
    "verdict": "theirs", "source_verdict": "older", "file_name": "elsewhere.png", "extra": "more",
    "Caption": "shouted", "mask_file_name": "m.png", 'a "b" c': 1, "ключ": "значение",
    "ratio": float("nan"), "deep": {"a": [1, float("inf")]}, "size": 3, "flag": True,
    "labels": ["x", "y"],
}  # fmt: skip
#: The same columns after a round trip: renamed, not overwritten; NaN is not valid JSON.
BACK = {
    "source_verdict": "theirs", "source_source_verdict": "older",
    "source_file_name": "elsewhere.png", "source_extra": "more", "source_Caption": "shouted",
    "mask_file_name": "m.png", 'a "b" c': 1, "ключ": "значение", "ratio": None,
    "deep": {"a": [1, None]}, "size": 3, "flag": True, "labels": ["x", "y"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Folders named like splits, which do not determine the pairs' own splits."""
    root = tmp_path / "source"
    names = ["train/a.png", "test/a.jpg", "val2014/__x/b.webp", ".hidden/c.png", "test/my_test.png"]
    for number, name in enumerate(names):
        picture(root / name, (10 + number, 10))
    return root


def rows(source: Path) -> list[ExportRow]:
    files = sorted(p for p in source.rglob("*") if p.is_file())
    splits = ["train", "test", None, "holdout"]
    return [
        ExportRow(
            id=f"id {n}/{n}", image_path=files[n % len(files)], caption=text,
            original_caption="before", split=splits[n % 4],
            verdict="correct" if n % 4 == 0 else None, p_error=0.25 if n % 4 == 0 else None,
            s_0=0.5, icc=None, tags=("abstract",) if n % 4 == 0 else (),
            extra={**ODD, "only_some": n} if n % 4 == 1 else dict(ODD),
        )
        for n, text in enumerate(CAPTIONS)
    ]  # fmt: skip


def card() -> str:
    return dataset_card(name="d", created=CREATED, version="1", facts={}, counts=COUNTS)


def write(source: Path, out: Path, format: str, given: list[ExportRow] | None = None) -> Path:
    given = rows(source) if given is None else given
    write_dataset(given, out, format=format, card=card(), source_root=source)
    return out


def check_pictures(images: list[Any], wanted: list[ExportRow]) -> None:
    assert [image.size for image in images] == [image_size(row.image_path) for row in wanted]


def of_split(every: list[ExportRow], *splits: str | None) -> list[ExportRow]:
    return [row for row in every if row.split in splits]


@pytest.mark.parametrize("format", ["imagefolder", "sidecar"])
def test_imagefolder_keeps_captions_and_splits(source: Path, tmp_path: Path, format: str) -> None:
    out = write(source, tmp_path / "out", format)
    assert (out / "train" / "metadata.jsonl").is_file()
    loaded = datasets.load_dataset("imagefolder", data_dir=str(out))
    assert set(loaded) == {"train", "test"}
    whole = datasets.load_dataset(str(out))
    assert set(whole) == {"train", "test", "holdout"}
    assert (
        '`load_dataset("imagefolder", data_dir=FOLDER)` supports train, validation and test only, '
        "and skips: holdout." in (out / "README.md").read_text("utf-8")
    )
    for each in (loaded, whole):
        for split in each:
            wanted = of_split(rows(source), *((split, None) if split == "train" else (split,)))
            assert each[split]["caption"][:] == [row.caption for row in wanted]
            assert each[split]["id"][:] == [row.id for row in wanted]
            assert each[split]["verdict"][:] == [row.verdict or "" for row in wanted]
            assert each[split]["source_verdict"][:] == ["theirs"] * len(wanted)
            assert each[split]["size"][:] == [3] * len(wanted)
            packed = [json.loads(text) for text in each[split]["extra"]]
            assert [row["mask_file_name"] for row in packed] == ["m.png"] * len(wanted)
            assert [row["p_error"] for row in packed] == [row.p_error for row in wanted]
            check_pictures(list(each[split]["image"]), wanted)


def test_the_imagefolder_card_names_splits_that_the_loader_skips(tmp_path: Path) -> None:
    image = picture(tmp_path / "source" / "a.png")
    splits = ("train", "dev", "zebra", "test", "holdout")
    every = [ExportRow(split, image, "A dog.", "A dog.", split=split) for split in splits]
    out = write(tmp_path / "source", tmp_path / "out", "imagefolder", every)
    loaded = datasets.load_dataset("imagefolder", data_dir=str(out))
    loaded_ids = {row["id"] for split in loaded.values() for row in split}
    text = (out / "README.md").read_text("utf-8")
    assert set(splits) - loaded_ids == {"zebra", "holdout"}
    assert "skips: holdout, zebra." in text
    known = [row for row in every if row.split in ("train", "test")]
    out = write(tmp_path / "source", tmp_path / "known", "imagefolder", known)
    assert "skips: " not in (out / "README.md").read_text("utf-8")


def test_images_with_colliding_names_do_not_overwrite_each_other(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with zipfile.ZipFile(tmp_path / "source" / "z.zip", "w") as archive:
        for n, name in enumerate(("a b.png", "a_b.png", "A_b.png")):
            archive.writestr(name, encoded((5 + n, 5)))
        lines = [{"file_name": n, "caption": n} for n in ("a b.png", "a_b.png", "A_b.png")]
        archive.writestr("metadata.jsonl", "\n".join(map(json.dumps, lines)))
    pairs = list(read_dataset(tmp_path / "source" / "z.zip"))
    every = [ExportRow(p.id, p.image_path, p.caption, "") for p in pairs]
    out = write(tmp_path / "source", tmp_path / "out", "imagefolder", every)
    loaded = datasets.load_dataset("imagefolder", data_dir=str(out))["train"]
    assert [image.size[0] for image in loaded["image"]] == [5, 6, 7]


def test_sidecars_are_laid_out_as_trainers_read_them(source: Path, tmp_path: Path) -> None:
    out = write(source, tmp_path / "out", "sidecar")
    for split in ("train", "test", "holdout"):
        wanted = of_split(rows(source), *((split, None) if split == "train" else (split,)))
        pictures = [p for p in (out / split).iterdir() if p.suffix not in (".txt", ".jsonl")]
        assert len(pictures) == len(wanted)
        read = {(p.with_suffix(".txt").read_bytes(), p.read_bytes()) for p in pictures}
        assert read == {(row.caption.encode(), image_and_ending(row.image_path)[0])
                        for row in wanted}  # fmt: skip


def test_coco_captions_are_read_by_pycocotools(source: Path, tmp_path: Path) -> None:
    out = write(source, tmp_path / "out", "coco")
    for split in ("train", "test", "holdout"):
        wanted = of_split(rows(source), *((split, None) if split == "train" else (split,)))
        coco = COCO(str(out / f"captions_{split}.json"))
        annotations = coco.loadAnns(coco.getAnnIds())
        assert [annotation["caption"] for annotation in annotations] == [
            row.caption for row in wanted
        ]
        assert [annotation["pair_id"] for annotation in annotations] == [row.id for row in wanted]
        assert annotations[0]["source_verdict"] == "theirs"
        for annotation, row in zip(annotations, wanted, strict=True):
            (image,) = coco.loadImgs(annotation["image_id"])
            data = (out / image["file_name"]).read_bytes()
            assert data == image_and_ending(row.image_path)[0]
            assert (image["width"], image["height"]) == Image.open(io.BytesIO(data)).size


def test_parquet_has_an_image_feature(source: Path, tmp_path: Path) -> None:
    out = write(source, tmp_path / "out", "parquet-images")
    for loaded in (
        datasets.load_dataset("parquet", data_files=str(out / "train-*.parquet")),
        datasets.load_dataset(str(out)),
    ):
        assert isinstance(loaded["train"].features["image"], datasets.Image)
        wanted = of_split(rows(source), "train", None)
        assert loaded["train"]["caption"][:] == [row.caption for row in wanted]
        assert loaded["train"]["tags"][:] == [list(row.tags) for row in wanted]
        check_pictures(list(loaded["train"]["image"]), wanted)
    assert set(loaded) == {"train", "test", "holdout"}
    frame = pd.read_parquet(out / "test-00000.parquet")
    assert list(frame["caption"]) == [row.caption for row in of_split(rows(source), "test")]


@pytest.mark.parametrize("shard", [1, 3, 10_000])
def test_a_webdataset_of_mixed_images_is_loaded(
    source: Path, tmp_path: Path, sizes: Sizes, shard: int
) -> None:
    sizes(SHARD=shard)
    out = write(source, tmp_path / "out", "webdataset")
    wanted = of_split(rows(source), "train", None)
    shards = [str(path) for path in sorted(out.glob("train-*.tar"))]
    loaded = datasets.load_dataset("webdataset", data_files={"train": shards})["train"]
    assert loaded["txt"][:] == [row.caption for row in wanted]
    assert [row["verdict"] for row in loaded["json"]] == [row.verdict or "" for row in wanted]
    (column,) = [n for n, f in loaded.features.items() if isinstance(f, datasets.Image)]
    check_pictures(list(loaded[column]), wanted)
    assert set(datasets.load_dataset(str(out))) == {"train", "test", "holdout"}
    theirs = list(webdataset.WebDataset(shards, shardshuffle=False).decode("pil"))
    assert [sample["txt"] for sample in theirs] == [row.caption for row in wanted]
    assert [sample["json"]["id"] for sample in theirs] == [row.id for row in wanted]
    check_pictures([sample[column] for sample in theirs], wanted)


def test_a_webdataset_of_one_image_format_keeps_its_extension(tmp_path: Path) -> None:
    image = picture(tmp_path / "source" / "a.png")
    every = [ExportRow("1", image, "A dog.", "A dog.")]
    out = write(tmp_path / "source", tmp_path / "out", "webdataset", every)
    (sample,) = webdataset.WebDataset(str(out / "train-000000.tar"), shardshuffle=False)
    assert sample["png"] == image.read_bytes()


def test_a_saved_dataset_is_loaded_from_disk(source: Path, tmp_path: Path) -> None:
    out = write(source, tmp_path / "out", "huggingface")
    loaded = datasets.load_from_disk(str(out))
    assert set(loaded) == {"train", "test", "holdout"}
    wanted = of_split(rows(source), "train", None)
    assert loaded["train"]["caption"][:] == [row.caption for row in wanted]
    check_pictures(list(loaded["train"]["image"]), wanted)


def frame_of(out: Path, format: str) -> pd.DataFrame:
    if format == "csv":
        return pd.read_csv(out / "data.csv", keep_default_na=False)
    if format == "jsonl":
        return pd.read_json(out / "data.jsonl", lines=True, convert_dates=False)
    return pd.read_parquet(out / "data.parquet")


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_tables_are_read_by_pandas(source: Path, tmp_path: Path, format: str) -> None:
    out = write(source, tmp_path / "elsewhere" / "out", format)
    frame = frame_of(out, format)
    shown = [f"'{text}" if format == "csv" and text[0] == "=" else text for text in CAPTIONS]
    assert list(frame["caption"]) == shown
    assert list(frame["id"]) == [row.id for row in rows(source)]
    for name, row in zip(frame["image_path"], rows(source), strict=True):
        assert not Path(name).is_absolute()
        assert (out / name).read_bytes() == image_and_ending(row.image_path)[0]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("container", ["tar", "parquet", "arrow", "zip"])
def test_exported_tables_contain_no_path_into_a_container(
    tmp_path: Path, format: str, container: str
) -> None:
    images = [encoded((3 + n, 5)) for n in range(3)]
    source = tmp_path / "source"
    source.mkdir()
    given = source
    if container == "tar":
        members = {f"{n}.{e}": (images[n] if e == "png" else b"A dog.")
                   for n in range(3) for e in ("png", "txt")}  # fmt: skip
        make_tar(source / "train-0.tar", members)
    elif container == "parquet":
        table = pa.table({"image": images, "caption": ["A dog."] * 3, "n": [0, 1, 2]})
        pq.write_table(table, source / "a.parquet")
    elif container == "arrow":
        rows = [{"image": {"bytes": image, "path": None}, "caption": "A dog."} for image in images]
        features = {"image": datasets.Image(), "caption": datasets.Value("string")}
        saved = datasets.Dataset.from_list(rows, features=datasets.Features(features))
        datasets.DatasetDict({"train": saved}).save_to_disk(str(source))
    else:
        given = source / "z.zip"
        lines = [{"file_name": f"{n}.png", "caption": "A dog."} for n in range(3)]
        with zipfile.ZipFile(given, "w") as archive:
            for n, image in enumerate(images):
                archive.writestr(f"{n}.png", image)
            archive.writestr("metadata.jsonl", "\n".join(map(json.dumps, lines)))
    pairs = list(read_dataset(given))
    assert all(f".{container}!/" in str(pair.image_path) for pair in pairs)
    every = [ExportRow(p.id, p.image_path, p.caption, "", extra=p.extra) for p in pairs]
    out = write(source, tmp_path / "out", format, every)
    frame = frame_of(out, format)
    assert not any("!/" in name or "+" in name for name in frame["image_path"])
    others = frame.drop(columns="id")  # an id that was generated on import is kept
    assert not any("!/" in str(cell) for cell in others.to_numpy().ravel())
    assert [(out / name).read_bytes() for name in frame["image_path"]] == images
    (table_file,) = out.glob("data.*")
    again = list(read_dataset(table_file))
    assert [image_and_ending(p.image_path)[0] for p in again] == images


def read_again(out: Path, format: str, source: Path) -> Iterator[SourcePair]:
    if format == "coco":
        tables = sorted(out.glob("captions_*.json"))
    else:
        tables = [next(out.glob("data.*"), out)]
    for table in tables:
        root = source if table.suffix in TABLES else None
        reader = read_dataset(table, ReadOptions(image_root=root))
        yield from reader
        assert reader.problems == []


TABLES = (".csv", ".jsonl", ".parquet")


#: Formats whose rows may have different columns.
UNPACKED = ("jsonl", "coco", "conversations")


@pytest.mark.parametrize("format", FORMATS)
def test_every_value_survives_and_the_card_says_what_was_changed(
    source: Path, tmp_path: Path, format: str, sizes: Sizes
) -> None:
    sizes(SHARD=3)
    # Not a sibling of the source, so that relative paths between them are distinguishable.
    out = write(source, tmp_path / "far" / "away" / "out", format)
    by_id = {pair.id: pair for pair in read_again(out, format, source)}
    assert len(by_id) == len(CAPTIONS)
    for n, row in enumerate(rows(source)):
        pair = by_id[row.id]
        assert pair.caption == row.caption
        assert pair.split == row.split
        assert image_and_ending(pair.image_path)[0] == image_and_ending(row.image_path)[0]
        for name, value in BACK.items():
            assert pair.extra.get(name) == value, name
        assert pair.extra.get("only_some") == (n if n % 4 == 1 else None)
        assert (pair.extra["verdict"] or None) == row.verdict
        assert pair.extra["original_caption"] == "before"
        assert float(pair.extra["s_0"]) == 0.5
        assert (pair.extra.get("p_error") or None) in (row.p_error, str(row.p_error))
    text = (out / "README.md").read_text("utf-8")
    assert "The source's column `verdict` is called `source_verdict`." in text
    assert "NaN" in text
    assert "`ratio`" in text
    assert ("`only_some`" in text) is (format not in UNPACKED), "packed, or unchanged"
    check_json(out)


def check_json(out: Path) -> None:
    """Everything written is valid JSON, without NaN."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for path in out.rglob("*.json*"):
        text = path.read_text("utf-8")
        for line in text.splitlines() if path.suffix == ".jsonl" else [text]:
            json.loads(line, parse_constant=refuse)
    for path in out.glob("data.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                json.loads(row["extra"], parse_constant=refuse)


def test_conversations_are_one_question_and_the_caption(tmp_path: Path) -> None:
    """As LLaVA's trainer reads them: a list of turns, of which the first names the image."""
    picture(tmp_path / "source" / "a.png")
    image, caption = tmp_path / "source" / "a.png", 'A dog.\n"Hi"'
    row = ExportRow("1", image, caption, "before", "train", "correction", None, None, None, (), {})
    write_dataset([row], tmp_path / "o", format="conversations", card="", source_root=image.parent)
    (line,) = (tmp_path / "o" / "data.jsonl").read_text(encoding="utf-8").splitlines()
    written = json.loads(line)
    question, answer = written["conversations"]
    assert (question["from"], question["value"].count("<image>")) == ("human", 1)
    assert answer == {"from": "gpt", "value": caption}
    assert (tmp_path / "o" / written["image"]).resolve() == image
