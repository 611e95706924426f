"""Stories of sources whose captions name the colour of their pictures: they are imported, changed,
imported again and exported, and no caption may end beside another colour or be another text.

Names, captions and splits are drawn from all scripts and normal forms; names are also written as
other systems do. Every export lands in one folder, over the last one, and is read back by our own
reader and by the loaders of docs/export.md, here with the cache of all stories before, and in a
fresh process.

    python -m tests.jobs.coloured_pairs --minutes 20 --seed 1 [--database postgresql]
"""

import argparse
import base64
import csv
import io
import itertools
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

import datasets
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from PIL import Image

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.safe_files.containers import ImageFile, locate
from backend.datasets.safe_files.images import load_image
from backend.errors import ImageError
from backend.jobs.export_choice import ExportChoice
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import dataset_queries, pair_queries
from db.texts import is_blank
from tests.datasets.export_loaders import Loaded, loaded_by
from tests.datasets.shard_writer import write_litdata, write_mds
from tests.fixtures.features import has_feature
from tests.fixtures.postgresql import find_binaries, temporary_server
from tests.tree import ROOT

COLOURS = {f"colour{n}": (n * 40 % 256, n * 90 % 256, n * 7) for n in range(30)}
NAMES = {rgb: name for name, rgb in COLOURS.items()}
assert len(NAMES) == len(COLOURS)


@dataclass(frozen=True)
class Row:
    """A row of a source: its caption is the colour of the picture, and a text."""

    id: int
    picture: str
    text: str
    split: str


@dataclass(frozen=True)
class Source:
    """Rows in order, and the colour of each picture."""

    rows: tuple[Row, ...]
    colours: Mapping[str, str]
    style: "Style"

    def caption(self, row: Row) -> str:
        return f"{self.colours[row.picture]}: {self.style.text}{row.text}"

    def used(self) -> dict[str, str]:
        return {row.picture: self.colours[row.picture] for row in self.rows}


class Style(NamedTuple):
    """How a source is written. `stem`: what pictures' names begin with; `writing`: how rows write
    them; `text`: in each caption; `splits`: instead of train and test."""

    stem: str = ""
    writing: str = "as they are"
    text: str = ""
    splits: tuple[str, str] = ("train", "test")
    encoding: str = "utf-8"
    line_end: str = "\n"

    def picture(self, name: str) -> str:
        """The name of a picture's file."""
        folder, _, last = name.rpartition("/")
        return f"{folder}/{self.stem}{last}" if folder else f"{self.stem}{last}"

    def written(self, name: str) -> str:
        return WRITINGS[self.writing](self.picture(name))

    def written_beside(self, name: str) -> str:
        """The name of the text beside a picture, without its ending, in the same folder."""
        folder, _, last = self.picture(name).rpartition("/")
        if self.writing in ("in form C", "in form D"):
            last = WRITINGS[self.writing](last)
        return f"{folder}/{last}" if folder else last

    def split(self, name: str) -> str:
        return self.splits[("train", "test").index(name)]


#: How systems and programs write the name of a file.
WRITINGS: dict[str, Callable[[str], str]] = {
    "as they are": str,
    "in form C": lambda name: unicodedata.normalize("NFC", name),
    "in form D": lambda name: unicodedata.normalize("NFD", name),
    "by Windows": lambda name: name.replace("/", "\\"),
    "on Windows": lambda name: "C:\\set\\" + name.replace("/", "\\"),
    "on another machine": lambda name: f"/home/ann/set/{name}",
    "as an address": lambda name: f"file:///data/{quote(name)}",
    "by Label Studio": lambda name: f"/data/local-files/?d=set/{quote(name)}",
    "without ending": lambda name: name.removesuffix(".png"),
}


def png(colour: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), COLOURS[colour]).save(buffer, "PNG")
    return buffer.getvalue()


# Forms: each writes a source into an empty folder and returns the path to import, and the number of
# its rows.

Written = tuple[Path, int]
Writer = Callable[[Path, Source, bool], Written]


def columns(source: Source, has_ids: bool, image: str = "file_name") -> list[dict[str, Any]]:
    return [
        ({"id": f"id{row.id}"} if has_ids else {})
        | {
            image: source.style.written(row.picture),
            "caption": source.caption(row),
            "split": source.style.split(row.split),
        }
        for row in source.rows
    ]


def files(source: Source) -> dict[str, bytes]:
    return {source.style.picture(name): png(colour) for name, colour in source.used().items()}


def pictures(folder: Path, source: Source) -> None:
    for name, content in files(source).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def lines(rows: Sequence[Mapping[str, Any]], style: Style) -> bytes:
    text = "".join(json.dumps(row, ensure_ascii=False) + style.line_end for row in rows)
    return text.encode(style.encoding)


def table_text(rows: Sequence[Mapping[str, Any]], style: Style, delimiter: str) -> bytes:
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]), delimiter=delimiter,
                            lineterminator=style.line_end)  # fmt: skip
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode(style.encoding)


def image_folder(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    (folder / "metadata.jsonl").write_bytes(lines(rows, source.style))
    return folder, len(rows)


def csv_table(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    (folder / "pairs.csv").write_bytes(table_text(rows, source.style, ","))
    return folder / "pairs.csv", len(rows)


def tsv_table(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    (folder / "pairs.tsv").write_bytes(table_text(rows, source.style, "\t"))
    return folder / "pairs.tsv", len(rows)


def json_list(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    text = json.dumps(rows, ensure_ascii=False, indent=1).replace("\n", source.style.line_end)
    (folder / "pairs.json").write_bytes(text.encode(source.style.encoding))
    return folder / "pairs.json", len(rows)


def parquet(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    pq.write_table(pa.Table.from_pylist(rows), folder / "pairs.parquet", row_group_size=2)
    return folder / "pairs.parquet", len(rows)


def parquet_images(folder: Path, source: Source, has_ids: bool) -> Written:
    rows = columns(source, has_ids, "image")
    for row, about in zip(rows, source.rows, strict=True):
        row["image"] = png(source.colours[about.picture])
    for number, start in enumerate(range(0, len(rows), 3)):
        table = pa.Table.from_pylist(rows[start : start + 3])
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=2)
    return folder, len(rows)


def saved(folder: Path, source: Source, has_ids: bool) -> Written:
    rows = columns(source, has_ids, "image")
    for row, about in zip(rows, source.rows, strict=True):
        row["image"] = {"bytes": png(source.colours[about.picture]), "path": None}
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(str(folder / "data-0.arrow"), table.schema) as stream:
        stream.write_table(table)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data-0.arrow"}]}')
    return folder, len(rows)


def webdataset(folder: Path, source: Source, has_ids: bool) -> Written:
    with tarfile.open(folder / "0.tar", "w") as archive:
        for row, values in zip(source.rows, columns(source, has_ids), strict=True):
            stem = source.style.picture(row.picture).removesuffix(".png")
            del values["file_name"]
            for name, data in (
                (f"{stem}.png", png(source.colours[row.picture])),
                (f"{stem}.json", json.dumps(values).encode()),
            ):
                about = tarfile.TarInfo(name)
                about.size = len(data)
                archive.addfile(about, io.BytesIO(data))
    return folder, len(source.rows)


def zipped(folder: Path, source: Source, has_ids: bool) -> Written:
    rows = columns(source, has_ids)
    with zipfile.ZipFile(folder / "pairs.zip", "w") as archive:
        archive.writestr("metadata.jsonl", lines(rows, source.style))
        for name, content in files(source).items():
            archive.writestr(name, content)
    return folder / "pairs.zip", len(rows)


def zip_by_windows(folder: Path, source: Source, has_ids: bool) -> Written:
    rows = columns(source, has_ids)
    with zipfile.ZipFile(folder / "pairs.zip", "w") as archive:
        archive.writestr("set\\metadata.csv", table_text(rows, source.style, ","))
        for name, content in files(source).items():
            archive.writestr(f"set\\{name}".replace("/", "\\"), content)
    return folder / "pairs.zip", len(rows)


def zip_beside(folder: Path, source: Source, has_ids: bool) -> Written:
    rows = [{**row, "file_name": f"z.zip!/{row['file_name']}"} for row in columns(source, has_ids)]
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        for name, content in files(source).items():
            archive.writestr(name, content)
    (folder / "pairs.jsonl").write_bytes(lines(rows, source.style))
    return folder / "pairs.jsonl", len(rows)


def sidecars(folder: Path, source: Source, has_ids: bool) -> Written:
    del has_ids
    pictures(folder, source)
    by_picture = {row.picture: source.caption(row) for row in source.rows}
    for name, caption in by_picture.items():
        text = (folder / source.style.written_beside(name)).with_suffix(".txt")
        text.parent.mkdir(parents=True, exist_ok=True)
        text.write_bytes(caption.encode(source.style.encoding))
    return folder, len(by_picture)


def coco(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder / "val2017", source)
    numbers = {name: number for number, name in enumerate(source.used())}
    annotations = [
        ({"id": row.id} if has_ids else {})
        | {"image_id": numbers[row.picture], "caption": source.caption(row)}
        for row in source.rows
    ]
    images = [
        {"id": number, "file_name": source.style.written(name)} for name, number in numbers.items()
    ]
    (folder / "annotations").mkdir()
    text = json.dumps({"images": images, "annotations": annotations}, ensure_ascii=False)
    table = folder / "annotations" / "captions_val2017.json"
    table.write_bytes(text.encode(source.style.encoding))
    return folder, len(annotations)


def zip_of_a_folder(folder: Path, source: Source, has_ids: bool) -> Written:
    """Whose table lies beside it and does not name it."""
    rows = columns(source, has_ids)
    (folder / "metadata.jsonl").write_bytes(lines(rows, source.style))
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for name, content in files(source).items():
            archive.writestr(name, content)
    return folder, len(rows)


def by_picture(folder: Path, source: Source, has_ids: bool) -> Written:
    """An object with the captions of each picture by its name."""
    del has_ids
    pictures(folder, source)
    captions: dict[str, list[dict[str, str]]] = {}
    for row in source.rows:
        about = {"caption": source.caption(row)}
        captions.setdefault(source.style.written(row.picture), []).append(about)
    text = json.dumps(captions, ensure_ascii=False)
    (folder / "captions.json").write_bytes(text.encode(source.style.encoding))
    return folder / "captions.json", len(source.rows)


def conversations(folder: Path, source: Source, has_ids: bool) -> Written:
    """Questions and answers about pictures that are bytes: FineVision's `texts`."""
    rows = [
        {
            "images": [{"bytes": png(source.colours[row.picture]), "path": None}],
            "texts": [{"user": "Describe the image.", "assistant": source.caption(row)}],
        }
        | ({"id": f"id{row.id}"} if has_ids else {})
        for row in source.rows
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "pairs.parquet", row_group_size=2)
    return folder, len(rows)


def messages(folder: Path, source: Source, has_ids: bool) -> Written:
    """Chats with the picture as a data URI."""
    rows = []
    for row in source.rows:
        picture = base64.b64encode(png(source.colours[row.picture])).decode()
        address = {"url": f"data:image/png;base64,{picture}"}
        question = [{"type": "image_url", "image_url": address},
                    {"type": "text", "text": "Describe the image."}]  # fmt: skip
        turns = [{"role": "user", "content": question},
                 {"role": "assistant", "content": source.caption(row)}]  # fmt: skip
        rows.append({"messages": turns} | ({"id": f"id{row.id}"} if has_ids else {}))
    # Pictures are found again in lines of UTF-8 alone.
    (folder / "pairs.jsonl").write_bytes(lines(rows, source.style._replace(encoding="utf-8")))
    return folder / "pairs.jsonl", len(rows)


def energon(folder: Path, source: Source, has_ids: bool) -> Written:
    """A tar whose captions are under a name that Energon's folder states."""
    with tarfile.open(folder / "0.tar", "w") as archive:
        for number, row in enumerate(source.rows):
            about = {"caption": "another"} | ({"id": f"id{row.id}"} if has_ids else {})
            for ending, data in (
                ("png", png(source.colours[row.picture])),
                ("long", source.caption(row).encode()),
                ("json", json.dumps(about).encode()),
            ):
                entry = tarfile.TarInfo(f"{number:04d}.{ending}")
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    (folder / ".nv-meta").mkdir()
    for name, text in (
        ("dataset", "field_map: {image: png, caption: long}"),
        ("split", "split_parts: {train: [0.tar]}"),
    ):
        (folder / ".nv-meta" / f"{name}.yaml").write_text(text)
    return folder, len(source.rows)


def numbered(folder: Path, source: Source, has_ids: bool) -> Written:
    """Chats about two pictures each, the second of which is asked about first, by its number."""
    pictures(folder, source)
    rows = []
    for start in range(0, len(source.rows), 2):
        both = source.rows[start : start + 2]
        turns = []
        for place in reversed(range(len(both))):
            question = [{"type": "image", "text": None, "index": place},
                        {"type": "text", "text": "Describe it.", "index": None}]  # fmt: skip
            turns += [{"role": "user", "content": question},
                      {"role": "assistant", "content": source.caption(both[place])}]  # fmt: skip
        names = [source.style.written(row.picture) for row in both]
        own_id = {"id": "-".join(str(row.id) for row in both)} if has_ids else {}
        rows.append({"images": names, "messages": turns} | own_id)
    (folder / "pairs.jsonl").write_bytes(lines(rows, source.style))
    return folder / "pairs.jsonl", len(source.rows)


def argilla(folder: Path, source: Source, has_ids: bool) -> Written:
    """Records as Argilla writes them, with an answer to another question."""
    pictures(folder, source)
    rest = {
        "suggestions": {}, "responses": {"is_right": [{"value": "yes", "user_id": "u1"}]},
        "vectors": {}, "status": "completed",
    }  # fmt: skip
    records = [
        ({"id": row["id"]} if has_ids else {})
        | {"fields": {"file_name": row["file_name"], "caption": row["caption"]}}
        | {"metadata": {"split": row["split"]}, **rest}
        for row in columns(source, has_ids)
    ]
    text = json.dumps(records, ensure_ascii=False)
    (folder / "records.json").write_bytes(text.encode(source.style.encoding))
    return folder / "records.json", len(records)


def data_frame(name: str, orient: Literal["columns", "split"]) -> Writer:
    """What pandas writes under that name."""

    def write(folder: Path, source: Source, has_ids: bool) -> Written:
        pictures(folder, source)
        rows = columns(source, has_ids)
        text = pd.DataFrame(rows).to_json(orient=orient, force_ascii=False)
        (folder / name).write_bytes(text.encode(source.style.encoding))
        return folder / name, len(rows)

    return write


def mds(folder: Path, source: Source, has_ids: bool) -> Written:
    """Shards in folders of splits below another, whose indexes are merged at the top."""
    names = ("id", "caption", "split") if has_ids else ("caption", "split")
    shards = []
    rows = list(zip(source.rows, columns(source, has_ids), strict=True))
    for split in ("train", "test"):
        samples = [
            {name: str(values[name]).encode() for name in names}
            | {"image": png(source.colours[row.picture])}
            for row, values in rows
            if row.split == split
        ]
        if not samples:
            continue
        parts = [samples[start : start + 2] for start in range(0, len(samples), 2)]
        write_mds(folder / "v1" / split, dict.fromkeys(names, "str") | {"image": "png"}, parts)
        index = json.loads((folder / "v1" / split / "index.json").read_text())
        for shard in index["shards"]:
            shard["raw_data"]["basename"] = f"v1/{split}/{shard['raw_data']['basename']}"
        shards += index["shards"]
    (folder / "index.json").write_text(json.dumps({"version": 2, "shards": shards}))
    return folder, len(rows)


def litdata(folder: Path, source: Source, has_ids: bool) -> Written:
    """A chunk of LitData in a folder below."""
    names = ("id", "caption") if has_ids else ("caption",)
    samples = [
        {"image": png(source.colours[row.picture])}
        | {name: str(values[name]).encode() for name in names}
        for row, values in zip(source.rows, columns(source, has_ids), strict=True)
    ]
    form = ["png", *("str" for _ in names)]
    write_litdata(folder / "a" / "b", form, dict.fromkeys(("image", *names)), samples)
    return folder, len(samples)


FORMS: dict[str, Writer] = {
    "image folder": image_folder,
    "csv": csv_table,
    "tsv": tsv_table,
    "json": json_list,
    "parquet": parquet,
    "sidecars": sidecars,
    "coco": coco,
    "parquet images": parquet_images,
    "saved": saved,
    "webdataset": webdataset,
    "zip": zipped,
    "zip by Windows": zip_by_windows,
    "zip beside a table": zip_beside,
    "zip beside a folder's table": zip_of_a_folder,
    "captions by picture": by_picture,
    "conversations": conversations,
    "messages": messages,
    "Energon": energon,
    "numbered pictures": numbered,
    "Argilla": argilla,
    "a data frame's columns": data_frame("pairs.jsonl", "columns"),
    "a data frame's parts": data_frame("pairs.json", "split"),
    "MDS": mds,
    "LitData": litdata,
}
#: Forms that features read.
_OF_FEATURES = {
    "Energon": "energon", "Argilla": "label_files", "MDS": "streaming", "LitData": "streaming",
}  # fmt: skip
#: Forms whose pictures are files of their own.
WITH_FILES = (
    *tuple(FORMS)[:7], "captions by picture", "numbered pictures", "Argilla",
    "a data frame's columns", "a data frame's parts",
)  # fmt: skip


# Changes: each has two positions, drawn at random, and a fresh number.


def insert(source: Source, at: int, other: int, fresh: int, **picture: str) -> Source:
    name, colour = f"p{fresh}.png", f"colour{other % len(COLOURS)}"
    row = Row(fresh, name, f"text {fresh}", "train")
    at %= len(source.rows) + 1
    rows = (*source.rows[:at], row, *source.rows[at:])
    return replace(source, rows=rows, colours={**source.colours, name: colour} | picture)


def changed_row(**change: Callable[[Row, Row, int], Any]) -> "Change":
    def apply(source: Source, at: int, other: int, fresh: int) -> Source:
        row = source.rows[at % len(source.rows)]
        model = source.rows[other % len(source.rows)]
        values = {name: value(row, model, fresh) for name, value in change.items()}
        rows = [replace(r, **values) if r is row else r for r in source.rows]
        return replace(source, rows=tuple(rows))

    return apply


def delete(source: Source, at: int, other: int, fresh: int) -> Source:
    at %= len(source.rows)
    rows = source.rows[:at] + source.rows[at + 1 :]
    return replace(source, rows=rows or source.rows)


def rename(source: Source, at: int, other: int, fresh: int) -> Source:
    old, new = source.rows[at % len(source.rows)].picture, f"sub/p{fresh}.png"
    rows = tuple(replace(r, picture=new) if r.picture == old else r for r in source.rows)
    return replace(source, rows=rows, colours={**source.colours, new: source.colours[old]})


def recolour(source: Source, at: int, other: int, fresh: int) -> Source:
    name = source.rows[at % len(source.rows)].picture
    colours = {**source.colours, name: f"colour{other % len(COLOURS)}"}
    return replace(source, colours=colours)


def swap_pictures(source: Source, at: int, other: int, fresh: int) -> Source:
    first, second = (source.rows[n % len(source.rows)].picture for n in (at, other))
    colours = {first: source.colours[second], second: source.colours[first]}
    return replace(source, colours={**source.colours, **colours})


def rotate(source: Source, at: int, other: int, fresh: int) -> Source:
    at %= len(source.rows)
    return replace(source, rows=source.rows[at:] + source.rows[:at])


def repeat(source: Source, at: int, other: int, fresh: int) -> Source:
    row, place = source.rows[at % len(source.rows)], other % (len(source.rows) + 1)
    return replace(source, rows=(*source.rows[:place], row, *source.rows[place:]))


Change = Callable[[Source, int, int, int], Source]
CHANGES: dict[str, Change] = {
    "insert": insert,
    "insert on top": lambda source, at, other, fresh: insert(source, 0, other, fresh),
    "delete": delete,
    "edit the caption": changed_row(text=lambda row, other, fresh: f"edited {fresh}"),
    "same text": changed_row(text=lambda row, other, fresh: other.text),
    "same id": changed_row(id=lambda row, other, fresh: other.id),
    "same picture": changed_row(picture=lambda row, other, fresh: other.picture),
    "another split": changed_row(split=lambda row, other, fresh: "test"),
    "rename": rename,
    "recolour": recolour,
    "swap pictures": swap_pictures,
    "rotate": rotate,
    "repeat": repeat,
}


@dataclass(frozen=True)
class Round:
    """Changes of the source (name, two positions), and what the import does with them. `corrects`:
    the pair that gets a corrected caption afterwards."""

    changes: tuple[tuple[str, int, int], ...]
    update: str
    gone: str
    corrects: int | None


@dataclass(frozen=True)
class Story:
    form: str
    has_ids: bool
    rounds: tuple[Round, ...]
    format: str
    style: Style


_POSITION = st.integers(0, 11)
_ROUND = st.builds(
    Round,
    st.lists(
        st.tuples(st.sampled_from(sorted(CHANGES)), _POSITION, _POSITION), min_size=1, max_size=5
    ).map(tuple),
    st.sampled_from(["keep", "take"]),
    st.sampled_from(["keep", "hide"]),
    st.none() | _POSITION,
)
#: Names in scripts and forms that programs trip over; a word for a split, marks of addresses.
_STEMS = (
    "é ", "e\u0301", "한국어", "\u1112\u1161\u11ab", "Việt", "がぎ", "ｶﾞ", "犬", "صورة", "تמ",
    "می\u200cخواهم", "תמונה", "चित्र", "รูป", "Ω", "İ", "ß", "👩\u200d🚒", "a\u202fb", "a\u00a0b",
    "it's", "a&b", "#1-", "50%-", "a+b", "what?", "a,b;c", 'say "x" ', "[x]", "a%41", "train",
    "test-", "val2017_", "~a", "-x", "a=b", "$x", "{x}",
)  # fmt: skip
_LETTERS = st.characters(
    categories=("L", "M", "N", "P", "S", "Zs"), exclude_characters="/\\.", codec="utf-8"
)
_WORD = st.text(_LETTERS, min_size=1, max_size=6).map(str.strip).filter(lambda w: not is_blank(w))
#: What captions hold: all scripts, marks of trainers and of tables, line ends.
_TEXTS = (
    "", "<image> ", "</s> ", "<|endoftext|> ", "a\nb ", "a\r\nb ", "a\tb ", '"quoted", ', "'",
    "=1+1 ", "; ", "\ufeff", "{x} ", "[1, 2] ", "NA ", "\u2028 ", "e\u0301 é ", "שלום ", "مرحبا ",
    "👩\u200d🚒 ", "\\n ", "%20 ", "&amp; ", "<b>",
)  # fmt: skip
_SPLITS = (
    "train", "test", "dev", "val", "validation", "eval", "val2017", "testmini", "my-fold", "fold_1",
    "分割", "Train", "a b", "é",
)  # fmt: skip
_STYLE = st.builds(
    Style,
    st.sampled_from(_STEMS) | _WORD,
    st.sampled_from(sorted(WRITINGS)),
    st.sampled_from(_TEXTS) | _WORD,
    st.lists(st.sampled_from(_SPLITS), min_size=2, max_size=2, unique=True).map(tuple),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.sampled_from(["\n", "\r\n"]),
)
STORIES = st.builds(
    Story,
    st.sampled_from(
        sorted(n for n in FORMS if n not in _OF_FEATURES or has_feature(_OF_FEATURES[n]))
    ),
    st.booleans(),
    st.lists(_ROUND, min_size=2, max_size=4).map(tuple),
    st.sampled_from(sorted(name for name, each in EXPORT_FORMATS.items() if each.contents is None)),
    st.just(Style()) | _STYLE,
)


class Teller:
    """Lives stories in one workspace, each with a dataset of its own."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        state = {"data_directory": str(folder / "state"), "database": database}
        self.workspace = Workspace(load_settings(state, {}))
        self.folder = folder
        self.count = 0
        self._prefix = f"{time.time_ns()}"
        datasets.config.HF_DATASETS_CACHE = folder / "cache"
        datasets.disable_progress_bars()

    def close(self) -> None:
        self.workspace.store.close()

    def live(self, story: Story) -> None:
        self.count += 1
        folder = self.folder / f"story-{self.count}"
        dataset_id: int | None = None
        fresh = itertools.count(3)
        first = Row(0, "p0.png", "text 0", "train")
        source = Source((first,), {"p0.png": "colour0"}, story.style)
        self._texts: set[str] = set()
        self._style = story.style
        for number in (1, 2):
            source = insert(source, number, number, number)
        unchanged = Round((), "keep", "keep", None)
        try:
            for a_round in (unchanged, *story.rounds):
                for name, at, other in a_round.changes:
                    source = CHANGES[name](source, at, other, next(fresh))
                dataset_id = self._import(story, a_round, folder / "d", source)
                self._check_pairs(dataset_id, a_round.corrects)
            assert dataset_id is not None
            self._export(story, dataset_id, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _import(self, story: Story, a_round: Round, folder: Path, source: Source) -> int:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        path, rows = FORMS[story.form](folder, source, story.has_ids)
        self._texts |= {source.caption(row) for row in source.rows}
        report = self.workspace.jobs.import_dataset(
            path, f"{self._prefix}-{self.count}", update=a_round.update, gone=a_round.gone
        )
        accounted = report.added + report.already_there + report.problems
        assert accounted == rows, f"{rows} rows, but {accounted} are accounted for"
        if not report.problems:
            shown = len(self._pairs(report.dataset_id))
            gone = 0 if a_round.gone == "hide" else report.changes.gone
            assert shown == report.added + report.already_there + gone, "pairs are missing"
        return report.dataset_id

    def _pairs(self, dataset_id: int) -> list[pair_queries.PairRow]:
        with self.workspace.store.reading() as session:
            return list(pair_queries.iterate_pairs(session, dataset_id))

    def _check_pairs(self, dataset_id: int, corrects: int | None) -> list[str]:
        """The captions of the pairs whose picture can be read."""
        with self.workspace.store.reading() as session:
            root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        readable = []
        for pair in self._pairs(dataset_id):
            assert pair.caption in self._texts, f"nobody wrote {pair.caption!r}"
            image = locate(root, pair.image_path)
            if is_beside_its_colour(image, pair.corrected_caption or pair.caption):
                assert is_beside_its_colour(image, pair.caption)
                readable.append(pair)
        if corrects is not None and readable:
            pair = readable[corrects % len(readable)]
            colour = pair.caption.partition(":")[0]
            text = f"{colour}: {self._style.text}corrected {corrects}"
            self.workspace.review.decide(pair.id, pair.verdict_version, "correction", text)
        return [pair.corrected_caption or pair.caption for pair in readable]

    def _export(self, story: Story, dataset_id: int, folder: Path) -> None:
        captions = Counter(self._check_pairs(dataset_id, None))
        if not captions:
            return
        choice, out = ExportChoice(unsure="keep"), self.folder / "exports" / story.form / "out"
        report = self.workspace.jobs.export(
            dataset_id, choice, out, story.format, overwrite=out.exists()
        )
        counts = report.counts
        assert counts.kept + sum(counts.left_out.values()) == len(self._pairs(dataset_id))
        assert report.written == captions.total() == counts.kept
        self._load(story.format, out, captions)
        again: Counter[str] = Counter()
        repeated = 0
        tables = sorted(out.glob("captions_*.json")) or [next(out.glob("data.*"), out)]
        for table in tables:
            is_outside = table.suffix in (".csv", ".jsonl", ".parquet")
            root = folder / "d" if is_outside and story.form in WITH_FILES else None
            reader = read_dataset(table, ReadOptions(image_root=root))
            for pair in reader:
                assert is_beside_its_colour(pair.image_path, pair.caption)
                again[pair.caption] += 1
            assert [p for p in reader.problems if p.kind != "repeated pair"] == []
            repeated += len(reader.problems)
        assert set(again) == set(captions)
        assert again.total() + repeated == captions.total(), f"{captions}, and read again: {again}"

    def _load(self, format: str, out: Path, captions: Counter[str]) -> None:
        """Read the export by the loaders of its format, here and in a fresh process."""
        ways = [*loaded_by(format, out)]
        if self.count % _FRESH_EVERY == 1:
            ways += freshly_loaded(format, out)
        card = (out / "README.md").read_text("utf-8")
        for loaded in ways:
            for caption, pixel, _ in loaded:
                red, green, blue = pixel
                colour = NAMES[red, green, blue]
                assert colour == caption.partition(":")[0], f"{caption!r} is beside {colour}"
            read = Counter(caption for caption, *_ in loaded)
            is_part = "supports train, validation and test only" in card and read <= captions
            assert read == captions or is_part, f"{captions} exported, {read} read"


#: Of so many stories, one is read by a fresh process, which takes seconds to import the loaders.
_FRESH_EVERY = 20


def freshly_loaded(format: str, out: Path) -> list[Loaded]:
    """What the loaders of a process read that has no cache."""
    with tempfile.TemporaryDirectory() as cache:
        question = json.dumps([format, str(out), cache])
        command = [sys.executable, "-m", "tests.datasets.export_loaders"]
        done = subprocess.run(
            command, input=question, capture_output=True, text=True, cwd=ROOT, check=True
        )
    answer: list[Loaded] = json.loads(done.stdout)
    return answer


def is_beside_its_colour(image: ImageFile, caption: str) -> bool:
    """False if the picture is refused. Raises AssertionError if it has another colour."""
    try:
        pixel = load_image(image).getpixel((1, 1))
    except ImageError:
        return False
    assert isinstance(pixel, tuple)
    colour = NAMES[pixel[0], pixel[1], pixel[2]]
    assert colour == caption.partition(":")[0], f"'{caption}' is beside {colour}"
    return True


def tell_for(minutes: float, first_seed: int, teller: Teller) -> None:
    """Live stories until so many minutes are over. Raises the first that fails."""
    end = time.monotonic() + 60 * minutes
    number = first_seed
    while time.monotonic() < end:
        _tell(teller, number)
        number += 1


def _tell(teller: Teller, number: int) -> None:
    @seed(number)
    @settings(max_examples=25, deadline=None, database=None, phases=[Phase.generate])
    @given(story=STORIES)
    def live(story: Story) -> None:
        teller.live(story)

    live()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    chosen = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coloured-pairs-")))
        url = None
        if chosen.database == "postgresql":
            binaries = find_binaries()
            if binaries is None:
                parser.error("PostgreSQL is not installed")
            url = stack.enter_context(temporary_server(binaries))
        teller = stack.enter_context(closing(Teller(folder, url)))
        tell_for(chosen.minutes, chosen.seed, teller)
        print(f"{teller.count:,} stories, no caption beside another picture.")


if __name__ == "__main__":
    main()
