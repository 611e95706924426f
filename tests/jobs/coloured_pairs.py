"""Stories of sources whose captions name the colour of their pictures: they are imported, changed,
imported again and exported, and no caption may end beside another colour.
"""

import io
import itertools
import json
import shutil
import tarfile
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from PIL import Image

from backend.datasets.containers import ImageFile, locate
from backend.datasets.images import load_image
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading import read_dataset
from backend.datasets.writing import FORMATS
from backend.errors import ImageError
from backend.jobs.reports import ExportChoice
from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import dataset_queries
from db.queries import pairs as pair_queries
from tests.datasets.folders import csv_file

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

    def caption(self, row: Row) -> str:
        return f"{self.colours[row.picture]}: {row.text}"

    def used(self) -> dict[str, str]:
        return {row.picture: self.colours[row.picture] for row in self.rows}


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
        | {image: row.picture, "caption": source.caption(row), "split": row.split}
        for row in source.rows
    ]


def pictures(folder: Path, source: Source) -> None:
    for name, colour in source.used().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(colour))


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def image_folder(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    (folder / "metadata.jsonl").write_text(lines(rows))
    return folder, len(rows)


def csv_table(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    return csv_file(folder / "pairs.csv", rows), len(rows)


def parquet(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder, source)
    rows = columns(source, has_ids)
    pq.write_table(pa.Table.from_pylist(rows), folder / "pairs.parquet", row_group_size=2)
    return folder / "pairs.parquet", len(rows)


def parquet_images(folder: Path, source: Source, has_ids: bool) -> Written:
    rows = columns(source, has_ids, "image")
    for row in rows:
        row["image"] = png(source.colours[row["image"]])
    for number, start in enumerate(range(0, len(rows), 3)):
        table = pa.Table.from_pylist(rows[start : start + 3])
        pq.write_table(table, folder / f"part-{number}.parquet", row_group_size=2)
    return folder, len(rows)


def saved(folder: Path, source: Source, has_ids: bool) -> Written:
    rows = columns(source, has_ids, "image")
    for row in rows:
        row["image"] = {"bytes": png(source.colours[row["image"]]), "path": None}
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(str(folder / "data-0.arrow"), table.schema) as stream:
        stream.write_table(table)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "data-0.arrow"}]}')
    return folder, len(rows)


def webdataset(folder: Path, source: Source, has_ids: bool) -> Written:
    with tarfile.open(folder / "0.tar", "w") as archive:
        for row, values in zip(source.rows, columns(source, has_ids), strict=True):
            stem = row.picture.removesuffix(".png")
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
        archive.writestr("metadata.jsonl", lines(rows))
        for name, colour in source.used().items():
            archive.writestr(name, png(colour))
    return folder / "pairs.zip", len(rows)


def sidecars(folder: Path, source: Source, has_ids: bool) -> Written:
    del has_ids
    pictures(folder, source)
    by_picture = {row.picture: source.caption(row) for row in source.rows}
    for name, caption in by_picture.items():
        (folder / name).with_suffix(".txt").write_text(caption)
    return folder, len(by_picture)


def coco(folder: Path, source: Source, has_ids: bool) -> Written:
    pictures(folder / "val2017", source)
    numbers = {name: number for number, name in enumerate(source.used())}
    annotations = [
        ({"id": row.id} if has_ids else {})
        | {"image_id": numbers[row.picture], "caption": source.caption(row)}
        for row in source.rows
    ]
    images = [{"id": number, "file_name": name} for name, number in numbers.items()]
    (folder / "annotations").mkdir()
    (folder / "annotations" / "captions_val2017.json").write_text(
        json.dumps({"images": images, "annotations": annotations})
    )
    return folder, len(annotations)


FORMS: dict[str, Writer] = {
    "image folder": image_folder,
    "csv": csv_table,
    "parquet": parquet,
    "sidecars": sidecars,
    "coco": coco,
    "parquet images": parquet_images,
    "saved": saved,
    "webdataset": webdataset,
    "zip": zipped,
}
#: Forms whose pictures are files of their own.
WITH_FILES = tuple(FORMS)[:5]


# Changes: each has two positions, drawn at random, and a fresh number.


def insert(source: Source, at: int, other: int, fresh: int, **picture: str) -> Source:
    name, colour = f"p{fresh}.png", f"colour{other % len(COLOURS)}"
    row = Row(fresh, name, f"text {fresh}", "train")
    at %= len(source.rows) + 1
    rows = (*source.rows[:at], row, *source.rows[at:])
    return Source(rows, {**source.colours, name: colour} | picture)


def changed_row(**change: Callable[[Row, Row, int], Any]) -> "Change":
    def apply(source: Source, at: int, other: int, fresh: int) -> Source:
        row = source.rows[at % len(source.rows)]
        model = source.rows[other % len(source.rows)]
        values = {name: value(row, model, fresh) for name, value in change.items()}
        rows = [replace(r, **values) if r is row else r for r in source.rows]
        return Source(tuple(rows), source.colours)

    return apply


def delete(source: Source, at: int, other: int, fresh: int) -> Source:
    at %= len(source.rows)
    rows = source.rows[:at] + source.rows[at + 1 :]
    return Source(rows or source.rows, source.colours)


def rename(source: Source, at: int, other: int, fresh: int) -> Source:
    old, new = source.rows[at % len(source.rows)].picture, f"sub/p{fresh}.png"
    rows = tuple(replace(r, picture=new) if r.picture == old else r for r in source.rows)
    return Source(rows, {**source.colours, new: source.colours[old]})


def recolour(source: Source, at: int, other: int, fresh: int) -> Source:
    name = source.rows[at % len(source.rows)].picture
    return Source(source.rows, {**source.colours, name: f"colour{other % len(COLOURS)}"})


def swap_pictures(source: Source, at: int, other: int, fresh: int) -> Source:
    first, second = (source.rows[n % len(source.rows)].picture for n in (at, other))
    colours = {first: source.colours[second], second: source.colours[first]}
    return Source(source.rows, {**source.colours, **colours})


def rotate(source: Source, at: int, other: int, fresh: int) -> Source:
    at %= len(source.rows)
    return Source(source.rows[at:] + source.rows[:at], source.colours)


def repeat(source: Source, at: int, other: int, fresh: int) -> Source:
    row, place = source.rows[at % len(source.rows)], other % (len(source.rows) + 1)
    return Source((*source.rows[:place], row, *source.rows[place:]), source.colours)


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
STORIES = st.builds(
    Story,
    st.sampled_from(sorted(FORMS)),
    st.booleans(),
    st.lists(_ROUND, min_size=2, max_size=4).map(tuple),
    st.sampled_from(sorted(FORMATS)),
)


class Teller:
    """Lives stories in one workspace, each with a dataset of its own."""

    def __init__(self, folder: Path, database: str | None = None) -> None:
        state = {"data_directory": str(folder / "state"), "database": database}
        self.workspace = Workspace(load_settings(state, {}))
        self.folder = folder
        self.count = 0
        self._prefix = f"{time.time_ns()}"

    def close(self) -> None:
        self.workspace.store.close()

    def live(self, story: Story) -> None:
        self.count += 1
        folder = self.folder / f"story-{self.count}"
        dataset_id: int | None = None
        fresh = itertools.count(3)
        first = Row(0, "p0.png", "text 0", "train")
        source = Source((first,), {"p0.png": "colour0"})
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

    def _check_pairs(self, dataset_id: int, corrects: int | None) -> int:
        """The number of pairs whose picture can be read."""
        with self.workspace.store.reading() as session:
            root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        readable = []
        for pair in self._pairs(dataset_id):
            image = locate(root, pair.image_path)
            if is_beside_its_colour(image, pair.corrected_caption or pair.caption):
                assert is_beside_its_colour(image, pair.caption)
                readable.append(pair)
        if corrects is not None and readable:
            pair = readable[corrects % len(readable)]
            colour = pair.caption.partition(":")[0]
            self.workspace.review.decide(
                pair.id, pair.verdict_version, "correction", f"{colour}: corrected {corrects}"
            )
        return len(readable)

    def _export(self, story: Story, dataset_id: int, folder: Path) -> None:
        readable = self._check_pairs(dataset_id, None)
        if not readable:
            return
        choice, out = ExportChoice(unsure="keep"), folder / "out"
        report = self.workspace.jobs.export(dataset_id, choice, out, story.format)
        counts = report.counts
        assert counts.kept + sum(counts.left_out.values()) == len(self._pairs(dataset_id))
        assert report.written == readable == counts.kept
        again = 0
        tables = sorted(out.glob("captions_*.json")) or [next(out.glob("data.*"), out)]
        for table in tables:
            is_outside = table.suffix in (".csv", ".jsonl", ".parquet")
            root = folder / "d" if is_outside and story.form in WITH_FILES else None
            reader = read_dataset(table, ReadOptions(image_root=root))
            for pair in reader:
                assert is_beside_its_colour(pair.image_path, pair.caption)
                again += 1
            assert [p for p in reader.problems if p.kind != "repeated pair"] == []
            again += len(reader.problems)
        assert again == readable, f"{readable} pairs exported, {again} read again"


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
