"""Exports that contain their images: WebDataset tars, Parquet, saved Hugging Face datasets.

A shard contains up to `SHARD` pairs of one split, in their order. Image bytes are those of the
source; nothing is decoded. A killed export is resumed: shards that it had finished are not written
again.
"""

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.export_row import (
    FIELDS,
    ExportRow,
    Target,
    arrow_values,
    json_values,
    typed_values,
)
from backend.datasets.reading.tar_descriptions import tar_describers
from backend.datasets.safe_files.containers import file_of
from backend.datasets.writing.card_features import arrow_features
from backend.datasets.writing.export_images import SplitNames, image_and_ending
from backend.errors import ExportError

#: Pairs per shard, and pairs written at once.
SHARD = 10_000
_GROUP = 100
#: File in an incomplete folder that lists its finished shards.
FINISHED = ".finished"
#: Extension of all images in a WebDataset export with images of several formats.
_MIXED = ".jpg"
_SAME = {".jpeg": ".jpg", ".tif": ".tiff"}

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
#: Column types in Hugging Face's notation; "Sequence" is read by old and new versions.
FEATURES = {
    "image": {"_type": "Image"},
    **{name: {"dtype": str(kind).replace("double", "float64"), "_type": "Value"}
       for name, kind in FIELDS},
    "tags": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
}  # fmt: skip
_SCHEMA = pa.schema(
    [("image", IMAGE), *FIELDS],
    metadata={"huggingface": json.dumps({"info": {"features": FEATURES}})},
)


def write_webdataset(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `train-000000.tar`, …: one sample per pair, with its image, its caption as `.txt`, and
    the rest as `.json`, where `extra` contains the source's other columns as JSON text.

    `datasets` infers types from a shard's first five samples, and then fails on a number where
    those have null: numbers that are not known are left out, and the card states the types."""
    count = _write_shards(rows, target, "{split}-{number:06d}.tar", write_samples, "webdataset")
    endings = _endings_of(sorted(target.part.glob("*.tar")))
    if ending := _unify_endings(endings, target):
        target.features = _sample_features(ending)
        samples = {shard.name: of_shard[".txt"] for shard, of_shard in endings.items()}
        for describer in tar_describers():
            describer.write(target.part, ending.removeprefix("."), samples)
    return count


def _endings_of(shards: Iterable[Path]) -> dict[Path, Counter[str]]:
    """How many members of each shard have which ending."""
    endings = {}
    for shard in shards:
        with tarfile.open(shard, "r:") as archive:
            endings[shard] = Counter(PurePosixPath(member.name).suffix for member in archive)
    return endings


def _sample_features(ending: str) -> list[dict[str, Any]]:
    """The types of a sample: `ending` is that of its image."""
    fields = [
        (name, pa.string() if pa.types.is_list(kind) else kind)
        for name, kind in FIELDS
        if name != "caption"
    ]
    return [
        {"name": ending.removeprefix("."), "dtype": "image"},
        {"name": "txt", "dtype": "string"},
        {"name": "json", "struct": arrow_features(fields)},
        {"name": "__key__", "dtype": "string"},
        {"name": "__url__", "dtype": "string"},
    ]


def write_samples(path: Path, rows: Sequence[tuple[int, ExportRow]]) -> None:
    """Write a tar of samples, each named by its number."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for number, row in rows:
            data, ending = image_and_ending(row.image_path)
            extra = json.dumps(row.extra, ensure_ascii=False) if row.extra else ""
            values = {**typed_values(row), "extra": extra}
            values = {k: v for k, v in values.items() if k != "caption" and v is not None}
            members = (
                (_SAME.get(ending, ending), data),
                (".txt", row.caption.encode()),
                (".json", json.dumps(values, ensure_ascii=False).encode()),
            )
            for suffix, content in members:
                entry = tarfile.TarInfo(f"{number:09d}{suffix}")
                entry.size, entry.mode = len(content), 0o644
                archive.addfile(entry, io.BytesIO(content))


def _unify_endings(of_shards: Mapping[Path, Counter[str]], target: Target) -> str:
    """Give all images the same extension if they are of several formats, by patching the tar
    headers: Hugging Face's loader infers the fields of all samples from the first ones and drops
    others. Pillow, and with it every loader, detects the format from the bytes.

    Returns the extension of all images, "" if there is none."""
    endings = {ending for of_shard in of_shards.values() for ending in of_shard}
    endings -= {".txt", ".json"}
    if len(endings) < 2:
        return "".join(endings)
    for shard in of_shards:
        with tarfile.open(shard, "r:") as archive:
            members = [m for m in archive if PurePosixPath(m.name).suffix in endings - {_MIXED}]
        with shard.open("r+b") as file:
            for member in members:
                member.name = str(PurePosixPath(member.name).with_suffix(_MIXED))
                header = member.tobuf(tarfile.PAX_FORMAT)
                assert len(header) == tarfile.BLOCKSIZE, "a header of another length overwrites"
                file.seek(member.offset)
                file.write(header)
    target.changes.remarks.append(
        f"Images of several kinds ({', '.join(sorted(endings))}) are all called `{_MIXED}`, "
        "because loaders expect one name; their bytes are those of the source."
    )
    return _MIXED


def write_parquet_images(rows: Iterable[ExportRow], target: Target) -> int:
    """Write `train-00000.parquet`, …: the image is a struct of bytes and path, which the schema
    declares as Hugging Face's Image feature."""

    def write(path: Path, rows: Sequence[tuple[int, ExportRow]]) -> None:
        with pq.ParquetWriter(path, _SCHEMA) as writer:
            for first in range(0, len(rows), _GROUP):
                cells = [_cells(number, row) for number, row in rows[first : first + _GROUP]]
                writer.write_table(pa.Table.from_pylist(cells, _SCHEMA))

    return _write_shards(rows, target, "{split}-{number:05d}.parquet", write, "parquet")


def write_saved_dataset(rows: Iterable[ExportRow], target: Target) -> int:
    """Write a DatasetDict of the splits for `datasets.load_from_disk`, with images as `Image`."""
    import datasets

    datasets.disable_progress_bars()
    part = target.part
    if "::" in str(part) or set("*?[") & set(str(part)):
        raise ExportError(
            "The library that writes this format reads '::', '*', '?' and '[' in a path as more "
            "than a name. Choose another folder, or another format."
        )
    between = part / ".between"
    between.mkdir(exist_ok=True)
    inner = Target(between, between, target.root, changes=target.changes)
    count = write_parquet_images(rows, inner)
    files: dict[str, list[str]] = {}
    for shard in sorted(between.glob("*.parquet")):
        files.setdefault(shard.stem.rpartition("-")[0], []).append(str(shard))
    for half in (path for path in part.iterdir() if path.is_dir() and path != between):
        shutil.rmtree(half)  # left by an export interrupted in the step below
    with tempfile.TemporaryDirectory(dir=part) as cache:
        dataset = datasets.load_dataset("parquet", data_files=files, cache_dir=cache)
        dataset.save_to_disk(str(part))
        target.files |= {str(split): f"{split}/*.arrow" for split in dataset}
        del dataset
    shutil.rmtree(between)
    return count


def _cells(number: int, row: ExportRow) -> dict[str, Any]:
    data, ending = image_and_ending(row.image_path)
    return {"image": {"bytes": data, "path": f"{number:09d}{ending}"}, **arrow_values(row)}


def _write_shards(
    rows: Iterable[ExportRow],
    target: Target,
    name: str,
    write: Callable[[Path, Sequence[tuple[int, ExportRow]]], None],
    loader: str = "",
) -> int:
    """Write the rows to shards by split; return the number of rows. `loader`: see
    `SplitNames.report`.

    A shard with the same rows and images, finished by an interrupted export, is reused.
    """
    part = target.part
    finished_shards = _FinishedShards(part)
    waiting: dict[str, list[tuple[int, ExportRow]]] = {}
    numbers: dict[str, int] = {}
    shard_names: set[str] = set()
    splits = SplitNames()
    count = 0

    def flush(split: str) -> None:
        batch = waiting.pop(split)
        number = numbers[split] = numbers.get(split, -1) + 1
        path = part / name.format(split=split, number=number)
        shard_names.add(path.name)
        target.files[split] = f"{split}-*{path.suffix}"
        digest = _digest(batch)
        if not finished_shards.has(path, digest):
            half = path.with_suffix(".half")
            write(half, batch)
            half.replace(path)
            finished_shards.add(path, digest)

    for number, row in enumerate(rows):
        split = splits.of(row.split)
        waiting.setdefault(split, []).append((number, row))
        target.changes.packed |= row.extra.keys()
        count += 1
        if len(waiting[split]) == SHARD:
            flush(split)
    for split in list(waiting):
        flush(split)
    finished_shards.end(shard_names, Path(name).suffix)
    splits.report(target.changes, loader)
    return count


class _FinishedShards:
    """The list of finished shards and their digests, in a file next to them."""

    def __init__(self, part: Path) -> None:
        self._path = part / FINISHED
        self._known: dict[str, str] = {}
        if self._path.exists():
            lines = self._path.read_text(encoding="utf-8").splitlines()
            self._known = dict(line.split(" ", 1)[::-1] for line in lines if line.count(" "))

    def has(self, path: Path, digest: str) -> bool:
        return self._known.get(path.name) == digest and path.exists()

    def add(self, path: Path, digest: str) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{digest} {path.name}\n")

    def end(self, names: set[str], ending: str) -> None:
        """Remove the list, and shards of an earlier attempt that are not in `names`."""
        self._path.unlink(missing_ok=True)
        for path in self._path.parent.glob(f"*{ending}"):
            if path.name not in names:
                path.unlink()


def _digest(rows: Sequence[tuple[int, ExportRow]]) -> str:
    """Digest of a shard's content; images are identified by path, size and modification time."""
    digest = hashlib.sha256()
    for number, row in rows:
        try:
            status = file_of(row.image_path).stat()
        except OSError as problem:
            raise ExportError(
                f"The image '{row.image_path.name}' is gone. Nothing was kept."
            ) from problem
        image = [str(row.image_path), status.st_size, status.st_mtime_ns]
        line = json.dumps([number, image, json_values(row)], ensure_ascii=True, default=str)
        digest.update(line.encode())
    return digest.hexdigest()
