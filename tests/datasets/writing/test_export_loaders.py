"""Every export format, read by the loader that people use for it, and by our own reader."""

import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import webdataset
from pycocotools.coco import COCO

from backend.datasets.caption_writers import Writer
from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.export_row import ExportRow
from backend.datasets.reading.row_pairs import SourcePair
from backend.datasets.safe_files.images import image_size
from backend.datasets.writing.card import dataset_card
from backend.datasets.writing.dataset_writer import FORMATS, write_dataset
from backend.datasets.writing.export_images import image_and_ending
from backend.errors import ExportError
from backend.measures import export_names
from tests.datasets.export_loaders import LOADERS
from tests.datasets.folders import encoded, json_lines, make_tar, picture, read, zip_bytes
from tests.datasets.folders import write as save
from tests.datasets.writing.test_writing import COUNTS, CREATED
from tests.fixtures.sizes import Sizes

CAPTIONS = ["A dog.", "=1+1", " two  spaces ", "new\nline", "犬 🐕", "2020-01-01", "<b>", "A cat."]
#: Columns of a source that collide with ours, or with names that a loader interprets.
ODD = {
    "verdict": "theirs", "source_verdict": "older", "file_name": "elsewhere.png", "extra": "more",
    "Caption": "shouted", "mask_file_name": "m.png", 'a "b" c': 1, "ключ": "значение",
    "ratio": float("nan"), "deep": {"a": [1, float("inf")]}, "size": 3, "flag": True,
    "labels": ["x", "y"], "half \ud83d": "\udcff",
}  # fmt: skip
#: The same columns after a round trip: renamed, not overwritten; NaN is not valid JSON.
BACK = {
    "source_verdict": "theirs", "source_source_verdict": "older",
    "source_file_name": "elsewhere.png", "source_extra": "more", "source_Caption": "shouted",
    "mask_file_name": "m.png", 'a "b" c': 1, "ключ": "значение", "ratio": None,
    "deep": {"a": [1, None]}, "size": 3, "flag": True, "labels": ["x", "y"],
    "half \ufffd": "\ufffd",
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


def content_of(text: str, other: str = "") -> Any:
    """What formats write that have `contents`: those of one feature, where it is there."""
    try:
        from backend.features.caption_pairs.comparisons import CaptionPair
    except ImportError:
        return None
    return (CaptionPair(text, other or f"not {text}"),)


def rows(source: Path) -> list[ExportRow]:
    files = sorted(p for p in source.rglob("*") if p.is_file())
    splits = ["train", "test", None, "holdout"]
    return [
        ExportRow(
            id=f"id {n}/{n}", image_path=files[n % len(files)], caption=text,
            original_caption="before", split=splits[n % 4],
            verdict="correct" if n % 4 == 0 else None,
            numbers={"s_0": 0.5, "p_error": 0.25 if n % 4 == 0 else None},
            tags=("abstract",) if n % 4 == 0 else (),
            content=content_of(text),
            extra={**ODD, "only_some": n} if n % 4 == 1 else dict(ODD),
        )
        for n, text in enumerate(CAPTIONS)
    ]  # fmt: skip


def write(source: Path, out: Path, format: str, every: list[ExportRow] | None = None) -> Path:
    card = dataset_card(name="d", created_at=CREATED, version="1", facts={}, counts=COUNTS)
    every = rows(source) if every is None else every
    write_dataset(every, out, format=format, card=card, source_root=source)
    return out


def by_split(source: Path) -> dict[str, list[ExportRow]]:
    """The rows that each split of an export has to have."""
    splits: dict[str, list[ExportRow]] = {"train": [], "test": [], "holdout": []}
    for row in rows(source):
        splits[row.split or "train"].append(row)
    return splits


def check_pairs(captions: Any, images: Any, wanted: list[ExportRow]) -> None:
    assert list(captions) == [row.caption for row in wanted]
    assert [image.size for image in images] == [image_size(row.image_path) for row in wanted]


#: Formats with a row for every pair.
OF_EVERY_PAIR = sorted(name for name, each in EXPORT_FORMATS.items() if each.contents is None)
#: Where a format has the caption.
CAPTION_COLUMNS = {"webdataset": "txt", "preference": "chosen", "hard-negatives": "title"}
#: Formats with one table of all splits, which loaders call by one name.
IN_ONE = {"csv", "jsonl", "conversations", "messages", "parquet"} & {*FORMATS}


@pytest.mark.parametrize("format", FORMATS)
def test_the_folder_of_an_export_is_loaded_as_its_data(
    source: Path, tmp_path: Path, format: str
) -> None:
    """As the viewer of the hub does it: by the card, which names the files of the data."""
    loaded = datasets.load_dataset(str(write(source, tmp_path / "out", format)))
    column = CAPTION_COLUMNS.get(format, "caption")
    captions = {
        split: [text if isinstance(text, str) else text[0]["content"][0]["text"] for text in
                table[column]]
        for split, table in loaded.items()
    }  # fmt: skip
    wanted = {split: [row.caption for row in rows] for split, rows in by_split(source).items()}
    if format == "csv":  # formulas are made harmless
        wanted["test"][0] = f"'{wanted['test'][0]}"
    if format in IN_ONE:
        (together,) = captions.values()
        assert sorted(together) == sorted(text for texts in wanted.values() for text in texts)
        assert set(loaded) == {"pairs"}
        assert set(loaded["pairs"]["split"]) - {None} == {"train", "test", "holdout"}
    else:
        assert {split: sorted(texts) for split, texts in captions.items()} == {
            split: sorted(texts) for split, texts in wanted.items()
        }


@pytest.mark.parametrize("format", sorted(IN_ONE))
def test_a_table_of_one_split_has_its_name(source: Path, tmp_path: Path, format: str) -> None:
    every = [replace(row, split="test") for row in rows(source)]
    loaded = datasets.load_dataset(str(write(source, tmp_path / "out", format, every)))
    assert set(loaded) == {"test"}


@pytest.mark.parametrize(
    "format", sorted({"csv", "jsonl", "conversations", "coco", "hard-negatives"} & set(FORMATS))
)
def test_columns_that_are_empty_at_first_are_loaded(
    source: Path, tmp_path: Path, format: str
) -> None:
    """Loaders infer types from the first ten megabytes. "NA" is a caption."""
    long = "x" * 11_000_000
    first = replace(rows(source)[0], verdict=None, note=None, numbers={}, extra={"late": None},
                    caption=long, content=content_of(long, "y"), split="train")  # fmt: skip
    second = replace(first, id="2", verdict="correct", note="Seen.", extra={"late": "x"},
                     caption="NA", content=content_of("NA", "N/A"))  # fmt: skip
    third = replace(second, id="3", caption="null", content=content_of("null", "None"))
    out = write(source, tmp_path / "out", format, [first, second, third])
    table = datasets.load_dataset(str(out))["train"]
    column = CAPTION_COLUMNS.get(format, "caption")
    by_id = dict(zip(table["pair_id" if format == "coco" else "id"], table, strict=True))
    assert [by_id[name][column] for name in ("2", "3")] == ["NA", "null"]
    assert by_id["2"]["verdict"] == "correct"
    assert by_id[first.id]["verdict"] is None


@pytest.mark.parametrize("is_streamed", [False, True])
@pytest.mark.parametrize("format", OF_EVERY_PAIR)
def test_what_the_first_pairs_lack_is_loaded(
    source: Path, tmp_path: Path, format: str, is_streamed: bool
) -> None:
    """Loaders infer types from the first five samples, or the first rows: pairs that are not
    scored yet, or were left out, often come first."""
    image = picture(source / "one.png")
    empty = ExportRow("", image, "A dog.", "A dog.", "train", extra={"late": None})
    numbers = dict.fromkeys(export_names(), 0.25)
    full = replace(empty, verdict="correct", note="Seen.", numbers=numbers, picture="dark",
                   tags=("wrong",), own_tags="mine", writer=Writer("anna", "person"),
                   extra={"late": "x"})  # fmt: skip
    for lacking in (5, 6, 100):
        every = [replace(empty if n < lacking else full, id=f"{n:04d}") for n in range(lacking + 2)]
        out = write(source, tmp_path / f"out{lacking}", format, every)
        if format == "huggingface":
            table = datasets.load_from_disk(str(out))["train"]
        else:
            table = datasets.load_dataset(str(out), split="train", streaming=is_streamed)
        samples = [row.get("json", row) for row in table]
        assert [row.get("pair_id", row["id"]) for row in samples] == [row.id for row in every]
        for name in (*numbers, "verdict", "note", "writer", "picture"):
            cells = [row[name] for row in samples]
            assert not any(cells[:lacking]), name
            assert cells[lacking:] == [0.25 if name in numbers else getattr(full, name)] * 2 or (
                name == "writer" and cells[lacking:] == ["anna"] * 2
            ), name


@pytest.mark.parametrize("format", ["imagefolder", "sidecar"])
def test_imagefolder_keeps_captions_and_splits(source: Path, tmp_path: Path, format: str) -> None:
    out, splits = write(source, tmp_path / "out", format), by_split(source)
    assert (out / "train" / "metadata.jsonl").is_file()
    loaded = datasets.load_dataset("imagefolder", data_dir=str(out))
    assert set(loaded) == {"train", "test"}
    whole = datasets.load_dataset(str(out))
    assert set(whole) == set(splits)
    for split, table in [*loaded.items(), *whole.items()]:
        wanted = splits[split]
        check_pairs(table["caption"], table["image"], wanted)
        assert table["id"][:] == [row.id for row in wanted]
        assert table["verdict"][:] == [row.verdict or "" for row in wanted]
        assert table["source_verdict"][:] == ["theirs"] * len(wanted)
        assert table["size"][:] == [3] * len(wanted)
        packed = [json.loads(text) for text in table["extra"]]
        assert [row["mask_file_name"] for row in packed] == ["m.png"] * len(wanted)
        assert [row["p_error"] for row in packed] == [row.numbers["p_error"] for row in wanted]


@pytest.mark.parametrize("format", LOADERS)
def test_no_loader_takes_an_export_for_another_one(tmp_path: Path, format: str) -> None:
    """Of the same folder after a correction, or of one of the same name that is gone since."""

    def check(root: Path, caption: str) -> None:
        image = picture(root / "a.png", (len(caption), 9))
        every = [ExportRow("1", image, caption, "before", split="train")]
        out = root / "cleaned"
        card = dataset_card(name="d", created_at=CREATED, version="1", facts={}, counts=COUNTS)
        write_dataset(every, out, format=format, card=card, overwrite=True, source_root=root)
        for load in LOADERS[format]:
            loaded = load(out)["train"]
            name = "txt" if format == "webdataset" else "caption"
            pictures = {"jpg", "png", "image"} & set(loaded.column_names)
            check_pairs(loaded[name], loaded[pictures.pop()], every)
            del loaded

    check(tmp_path / "first", "A blue dog.")
    check(tmp_path / "first", "A grey dog.")
    (tmp_path / "first").rename(tmp_path / "elsewhere")
    check(tmp_path / "second", "A grey dog.")


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
    names = ("a b.png", "a_b.png", "A_b.png")
    members = {name: encoded((5 + n, 5)) for n, name in enumerate(names)}
    members["metadata.jsonl"] = json_lines({"file_name": n, "caption": n} for n in names).encode()
    source = save(tmp_path / "source" / "z.zip", zip_bytes(members))
    every = [ExportRow(p.id, p.image_path, p.caption, "") for p in read(source)[0]]
    out = write(source.parent, tmp_path / "out", "imagefolder", every)
    loaded = datasets.load_dataset("imagefolder", data_dir=str(out))["train"]
    assert [image.size[0] for image in loaded["image"]] == [5, 6, 7]


def test_sidecars_are_laid_out_as_trainers_read_them(source: Path, tmp_path: Path) -> None:
    out = write(source, tmp_path / "out", "sidecar")
    for split, wanted in by_split(source).items():
        pictures = [p for p in (out / split).iterdir() if p.suffix not in (".txt", ".jsonl")]
        assert len(pictures) == len(wanted)
        assert {(p.with_suffix(".txt").read_bytes(), p.read_bytes()) for p in pictures} == {
            (row.caption.encode(), image_and_ending(row.image_path)[0]) for row in wanted
        }


def test_coco_captions_are_read_by_pycocotools(source: Path, tmp_path: Path) -> None:
    out = write(source, tmp_path / "out", "coco")
    for split, wanted in by_split(source).items():
        coco = COCO(str(out / f"captions_{split}.json"))
        annotations = coco.loadAnns(coco.getAnnIds())
        assert annotations[0]["source_verdict"] == "theirs"
        for annotation, row in zip(annotations, wanted, strict=True):
            assert (annotation["caption"], annotation["pair_id"]) == (row.caption, row.id)
            (image,) = coco.loadImgs(annotation["image_id"])
            assert (out / image["file_name"]).read_bytes() == image_and_ending(row.image_path)[0]
            assert (image["width"], image["height"]) == image_size(row.image_path)


def test_parquet_has_an_image_feature(source: Path, tmp_path: Path) -> None:
    out, splits = write(source, tmp_path / "out", "parquet-images"), by_split(source)
    for loaded in (
        datasets.load_dataset("parquet", data_files=str(out / "train-*.parquet")),
        datasets.load_dataset(str(out)),
    ):
        train = loaded["train"]
        assert isinstance(train.features["image"], datasets.Image)
        check_pairs(train["caption"], train["image"], splits["train"])
        assert train["tags"][:] == [list(row.tags) for row in splits["train"]]
    assert set(loaded) == set(splits)
    frame = pd.read_parquet(out / "test-00000.parquet")
    assert list(frame["caption"]) == [row.caption for row in splits["test"]]


@pytest.mark.parametrize("name", ["a::memory:", "a*", "a[b]"])
def test_no_saved_dataset_is_written_where_a_library_reads_more_than_a_name(
    source: Path, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ExportError, match="Choose another folder"):
        write(source, tmp_path / name / "out", "huggingface")
    assert not list(tmp_path.rglob("*.arrow"))


@pytest.mark.parametrize("shard", [1, 3, 10_000])
def test_a_webdataset_of_mixed_images_is_loaded(
    source: Path, tmp_path: Path, sizes: Sizes, shard: int
) -> None:
    sizes(SHARD=shard)
    out, wanted = write(source, tmp_path / "out", "webdataset"), by_split(source)["train"]
    shards = [str(path) for path in sorted(out.glob("train-*.tar"))]
    loaded = datasets.load_dataset("webdataset", data_files={"train": shards})["train"]
    (column,) = [n for n, f in loaded.features.items() if isinstance(f, datasets.Image)]
    check_pairs(loaded["txt"], loaded[column], wanted)
    assert [row["verdict"] for row in loaded["json"]] == [row.verdict or "" for row in wanted]
    assert set(datasets.load_dataset(str(out))) == set(by_split(source))
    theirs = list(webdataset.WebDataset(shards, shardshuffle=False).decode("pil"))
    check_pairs([s["txt"] for s in theirs], [s[column] for s in theirs], wanted)
    assert [sample["json"]["id"] for sample in theirs] == [row.id for row in wanted]


def test_a_webdataset_of_one_image_format_keeps_its_extension(tmp_path: Path) -> None:
    image = picture(tmp_path / "source" / "a.png")
    every = [ExportRow("1", image, "A dog.", "A dog.")]
    out = write(tmp_path / "source", tmp_path / "out", "webdataset", every)
    (sample,) = webdataset.WebDataset(str(out / "train-000000.tar"), shardshuffle=False)
    assert sample["png"] == image.read_bytes()


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
@pytest.mark.parametrize("container", ["tar", "parquet", "zip"])
def test_exported_tables_contain_no_path_into_a_container(
    tmp_path: Path, format: str, container: str
) -> None:
    images = [encoded((3 + n, 5)) for n in range(3)]
    source = tmp_path / "source"
    source.mkdir()
    place = source
    if container == "tar":
        members = {f"{n}.{e}": (images[n] if e == "png" else b"A dog.")
                   for n in range(3) for e in ("png", "txt")}  # fmt: skip
        make_tar(source / "train-0.tar", members)
    elif container == "parquet":
        table = pa.table({"image": images, "caption": ["A dog."] * 3, "n": [0, 1, 2]})
        pq.write_table(table, source / "a.parquet")
    else:
        lines = json_lines({"file_name": f"{n}.png", "caption": "A dog."} for n in range(3))
        members = {f"{n}.png": image for n, image in enumerate(images)}
        place = save(source / "z.zip", zip_bytes(members | {"metadata.jsonl": lines}))
    pairs, _ = read(place)
    assert all(f".{container}!/" in str(pair.image_path) for pair in pairs)
    every = [ExportRow(p.id, p.image_path, p.caption, "", extra=p.extra) for p in pairs]
    out = write(source, tmp_path / "out", format, every)
    frame = frame_of(out, format)
    assert not any("!/" in name or "+" in name for name in frame["image_path"])
    others = frame.drop(columns="id")  # an id that was generated on import is kept
    assert not any("!/" in str(cell) for cell in others.to_numpy().ravel())
    assert [(out / name).read_bytes() for name in frame["image_path"]] == images
    (table_file,) = out.glob("data.*")
    again, _ = read(table_file)
    assert [image_and_ending(p.image_path)[0] for p in again] == images


def read_again(out: Path, format: str, source: Path) -> Iterator[SourcePair]:
    names = {"coco": "captions_*.json", "hard-negatives": "*.tsv"}
    tables = sorted(out.glob(names.get(format, "data.*")))
    for table in tables or [out]:
        is_table = table.suffix in (".csv", ".tsv", ".jsonl", ".parquet")
        pairs, reader = read(table, image_root=source if is_table else None)
        yield from pairs
        assert reader.problems == []


#: Formats whose rows may have different columns.
UNPACKED = ("jsonl", "coco", "conversations", "messages")


@pytest.mark.parametrize("format", FORMATS)
def test_every_value_survives_and_the_card_says_what_was_changed(
    source: Path, tmp_path: Path, format: str, sizes: Sizes
) -> None:
    """A format that drops columns, or that the program cannot import, is none of ours: it belongs
    in a package of its own (docs/extending.md)."""
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
        p_error = row.numbers["p_error"]
        assert (pair.extra.get("p_error") or None) in (p_error, str(p_error))
    text = (out / "README.md").read_text("utf-8")
    assert "The source's column `verdict` is called `source_verdict`." in text
    assert "NaN" in text
    assert "`ratio`" in text
    assert "half \ufffd" in text
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


@pytest.mark.parametrize("ending", [".jp2", ".tga", ".qoi", ".pnm"])
@pytest.mark.parametrize("format", ["webdataset", "sidecar", "parquet-images"])
def test_rare_formats_keep_the_name_by_which_they_are_read(
    tmp_path: Path, format: str, ending: str
) -> None:
    image = picture(tmp_path / "source" / f"a{ending}")
    every = [ExportRow("1", image, "A dog.", "", split="train")]
    pairs, reader = read(write(tmp_path / "source", tmp_path / "out", format, every))
    assert ([p.caption for p in pairs], reader.problems) == (["A dog."], [])
