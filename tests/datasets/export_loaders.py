"""The loaders that docs/export.md names for each format, each as a function of an export's folder.

Run as a program (`python -m tests.datasets.export_loaders`) it reads lines of JSON, a format and a
folder each, and answers each with what its loaders read, in a process that has loaded nothing yet.
"""

import codecs
import io
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import datasets
import pandas as pd
import webdataset
from PIL import Image
from pycocotools.coco import COCO

Loader = Callable[[Path], Any]
#: Those with a cache, which give a table by split.
LOADERS: dict[str, tuple[Loader, ...]] = {
    "imagefolder": (
        lambda out: datasets.load_dataset(str(out)),
        lambda out: datasets.load_dataset("imagefolder", data_dir=str(out)),
    ),
    "sidecar": (lambda out: datasets.load_dataset("imagefolder", data_dir=str(out)),),
    "webdataset": (
        lambda out: datasets.load_dataset(str(out)),
        lambda out: datasets.load_dataset("webdataset", data_files=str(out / "*.tar")),
    ),
    "parquet-images": (
        lambda out: datasets.load_dataset(str(out)),
        lambda out: datasets.load_dataset("parquet", data_files=str(out / "*.parquet")),
    ),
    "huggingface": (lambda out: datasets.load_from_disk(str(out)),),
}
#: The caption, the colour of the picture's corner, and the split.
Loaded = list[tuple[str, tuple[int, int, int], str]]


def corner(picture: Any) -> tuple[int, int, int]:
    image = picture if isinstance(picture, Image.Image) else Image.open(picture)
    pixel = image.convert("RGB").getpixel((1, 1))
    assert isinstance(pixel, tuple)
    return pixel[0], pixel[1], pixel[2]


def loaded_by(format: str, out: Path) -> Iterator[Loaded]:
    """What each loader reads from an export."""
    for load in LOADERS.get(format, ()):
        yield [
            (row["txt"] if format == "webdataset" else row["caption"], corner(picture), split)
            for split, table in load(out).items()
            for row in table
            for picture in [next(row[n] for n in ("image", "jpg", "png") if n in row)]
        ]
    if other := OTHERS.get(format):
        yield list(other(out))


def _sidecars(out: Path) -> Iterator[tuple[str, tuple[int, int, int], str]]:
    for text in sorted(out.glob("*/*.txt")):
        (picture,) = (p for p in text.parent.glob("*.*") if p.stem == text.stem and p != text)
        yield _by_its_mark(text.read_bytes()), corner(picture), text.parent.name


def _by_its_mark(content: bytes) -> str:
    """A text in the encoding of its source: exports keep byte order marks."""
    marks = {"utf-32": (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-8-sig": codecs.BOM_UTF8,
             "utf-16": (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)}  # fmt: skip
    encoding = next((name for name, mark in marks.items() if content.startswith(mark)), "utf-8")
    return content.decode(encoding)


def _coco(out: Path) -> Iterator[tuple[str, tuple[int, int, int], str]]:
    for table in sorted(out.glob("captions_*.json")):
        coco = COCO(str(table))
        for annotation in coco.loadAnns(coco.getAnnIds()):
            (image,) = coco.loadImgs(annotation["image_id"])
            split = table.stem.removeprefix("captions_")
            yield annotation["caption"], corner(out / image["file_name"]), split


def _tars(out: Path) -> Iterator[tuple[str, tuple[int, int, int], str]]:
    for shard in sorted(out.glob("*.tar")):
        for sample in webdataset.WebDataset(str(shard), shardshuffle=False):
            picture = io.BytesIO(next(sample[n] for n in ("jpg", "png") if n in sample))
            split = json.loads(sample["json"])["split"] or "train"
            yield sample["txt"].decode(), corner(picture), split


def _frame(read: Callable[[Path], pd.DataFrame]) -> "Other":
    def rows(out: Path) -> Iterator[tuple[str, tuple[int, int, int], str]]:
        for _, row in read(out).iterrows():
            yield row["caption"], corner(out / row["image_path"]), row["split"] or "train"

    return rows


def _conversations(out: Path) -> Iterator[tuple[str, tuple[int, int, int], str]]:
    for table in sorted(set(out.glob("*.json*")) - {out / "croissant.json"}):
        for line in table.read_text("utf-8").split("\n"):
            if line:
                row = json.loads(line)
                text = row["conversations"][-1]["value"]
                assert text == row["caption"].replace("<image>", "(image)"), text
                yield row["caption"], corner(out / row["image"]), row["split"] or "train"


def _messages(out: Path) -> Iterator[tuple[str, tuple[int, int, int], str]]:
    for row in datasets.Dataset.from_json(str(out / "data.jsonl")):
        assert isinstance(row, dict)
        (path,), (answer,) = row["images"], row["messages"][-1]["content"]
        text = answer["text"]
        assert text == row["caption"].replace("<image>", "(image)"), text
        parts = [part for turn in row["messages"] for part in turn["content"]]
        assert sum(part["type"] == "image" for part in parts) == 1
        assert not any("<image>" in (part.get("text") or "") for part in parts)
        yield row["caption"], corner(out / path), row["split"] or "train"


Other = Callable[[Path], Iterator[tuple[str, tuple[int, int, int], str]]]
OTHERS: Mapping[str, Other] = {
    "sidecar": _sidecars,
    "coco": _coco,
    "webdataset": _tars,
    "csv": _frame(lambda out: pd.read_csv(out / "data.csv", dtype=str, keep_default_na=False)),
    "jsonl": _frame(lambda out: pd.read_json(out / "data.jsonl", lines=True, dtype=False)),
    "parquet": _frame(lambda out: pd.read_parquet(out / "data.parquet")),
    "conversations": _conversations,
    "messages": _messages,
}


def main() -> None:
    datasets.disable_progress_bars()
    answers = sys.stdout
    sys.stdout = sys.stderr  # pycocotools prints
    for line in sys.stdin:
        format, out, cache = json.loads(line)
        datasets.config.HF_DATASETS_CACHE = Path(cache)
        print(json.dumps(list(loaded_by(format, Path(out)))), file=answers, flush=True)


if __name__ == "__main__":
    main()
