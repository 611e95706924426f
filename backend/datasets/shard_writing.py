"""Datasets that carry their images: WebDataset tars, Parquet, saved Hugging Face datasets.

A shard holds so many pairs of one split, in the order in which they come. The bytes of images are
those of the source; nothing is decoded. An export that was killed goes on: shards that it had
finished are not written again.
"""

import hashlib
import io
import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.containers import file_of
from backend.datasets.export_images import image_and_ending, split_name
from backend.datasets.export_row import (
    FIELDS,
    ExportRow,
    arrow_values,
    json_values,
    typed_values,
)
from backend.datasets.export_target import Target
from backend.errors import ExportError

#: Pairs a shard, and pairs that are written together.
SHARD = 10_000
_GROUP = 100
#: In a folder of shards that is not complete: those that are.
FINISHED = ".finished"
#: What the image of a sample is called where an export has images of several kinds.
_MIXED = ".jpg"
_SAME = {".jpeg": ".jpg", ".tif": ".tiff"}

_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
#: Column types as Hugging Face's library notes them; "Sequence" is read by old versions and new.
_FEATURES = {
    "image": {"_type": "Image"},
    **{name: {"dtype": str(kind).replace("double", "float64"), "_type": "Value"}
       for name, kind in FIELDS},
    "tags": {"feature": {"dtype": "string", "_type": "Value"}, "_type": "Sequence"},
}  # fmt: skip
_SCHEMA = pa.schema(
    [("image", _IMAGE), *FIELDS],
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)


def write_webdataset(rows: Iterable[ExportRow], target: Target) -> int:
    """`train-000000.tar`, …: a sample a pair, its image, its caption as `.txt`, the rest as
    `.json`, in which the source's other columns are the JSON text `extra`."""

    def write(path: Path, numbered: Sequence[tuple[int, ExportRow]]) -> None:
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
            for number, row in numbered:
                data, ending = image_and_ending(row.image_path)
                extra = json.dumps(row.extra, ensure_ascii=False) if row.extra else ""
                values = {**typed_values(row), "extra": extra}
                del values["caption"]
                members = (
                    (_SAME.get(ending, ending), data),
                    (".txt", row.caption.encode()),
                    (".json", json.dumps(values, ensure_ascii=False).encode()),
                )
                for suffix, content in members:
                    entry = tarfile.TarInfo(f"{number:09d}{suffix}")
                    entry.size, entry.mode = len(content), 0o644
                    archive.addfile(entry, io.BytesIO(content))

    count = _sharded(rows, target, "{split}-{number:06d}.tar", write)
    _unify_endings(sorted(target.part.glob("*.tar")), target)
    return count


def _unify_endings(shards: Sequence[Path], target: Target) -> None:
    """Hugging Face's loader takes the endings of the first samples for those of all, and drops what
    is called otherwise: where images are of several kinds, all get one name, in the headers of the
    tars. Pillow, and with it every loader, goes by the bytes."""
    endings: set[str] = set()
    for shard in shards:
        with tarfile.open(shard, "r:") as archive:
            endings |= {PurePosixPath(member.name).suffix for member in archive}
    endings -= {".txt", ".json"}
    if len(endings) < 2:
        return
    for shard in shards:
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


def write_parquet_images(rows: Iterable[ExportRow], target: Target) -> int:
    """`train-00000.parquet`, …: the image as a struct of bytes and path, which the schema says to
    be an image, as Hugging Face has it."""

    def write(path: Path, numbered: Sequence[tuple[int, ExportRow]]) -> None:
        with pq.ParquetWriter(path, _SCHEMA) as writer:
            for first in range(0, len(numbered), _GROUP):
                cells = [_cells(number, row) for number, row in numbered[first : first + _GROUP]]
                writer.write_table(pa.Table.from_pylist(cells, _SCHEMA))

    return _sharded(rows, target, "{split}-{number:05d}.parquet", write)


def write_saved_dataset(rows: Iterable[ExportRow], target: Target) -> int:
    """What `datasets.load_from_disk` reads: a DatasetDict of the splits, images as `Image`."""
    import datasets

    datasets.disable_progress_bars()
    part = target.part
    between = part / ".between"
    between.mkdir(exist_ok=True)
    inner = Target(between, between, target.root, changes=target.changes)
    count = write_parquet_images(rows, inner)
    files: dict[str, list[str]] = {}
    for shard in sorted(between.glob("*.parquet")):
        files.setdefault(shard.stem.rpartition("-")[0], []).append(str(shard))
    for half in (path for path in part.iterdir() if path.is_dir() and path != between):
        shutil.rmtree(half)  # of an export that was stopped at what follows
    with tempfile.TemporaryDirectory(dir=part) as cache:
        dataset = datasets.load_dataset("parquet", data_files=files, cache_dir=cache)
        dataset.save_to_disk(str(part))
        del dataset
    shutil.rmtree(between)
    return count


def _cells(number: int, row: ExportRow) -> dict[str, Any]:
    data, ending = image_and_ending(row.image_path)
    return {"image": {"bytes": data, "path": f"{number:09d}{ending}"}, **arrow_values(row)}


def _sharded(
    rows: Iterable[ExportRow],
    target: Target,
    name: str,
    write: Callable[[Path, Sequence[tuple[int, ExportRow]]], None],
) -> int:
    """Hand the rows out to shards by their split; the number of rows.

    A shard that an export before this one has finished, of the same rows and images, stays.
    """
    part = target.part
    finished = _Finished(part)
    waiting: dict[str, list[tuple[int, ExportRow]]] = {}
    numbers: dict[str, int] = {}
    wanted: set[str] = set()
    count = 0

    def flush(split: str) -> None:
        numbered = waiting.pop(split)
        number = numbers[split] = numbers.get(split, -1) + 1
        path = part / name.format(split=split, number=number)
        wanted.add(path.name)
        target.files[split] = f"{split}-*{path.suffix}"
        digest = _digest(numbered)
        if not finished.has(path, digest):
            half = path.with_suffix(".half")
            write(half, numbered)
            half.replace(path)
            finished.add(path, digest)

    for number, row in enumerate(rows):
        split = split_name(row.split)
        waiting.setdefault(split, []).append((number, row))
        target.changes.packed |= row.extra.keys()
        count += 1
        if len(waiting[split]) == SHARD:
            flush(split)
    for split in list(waiting):
        flush(split)
    finished.end(wanted, Path(name).suffix)
    return count


class _Finished:
    """A list beside the shards, of those that are whole and what they hold."""

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

    def end(self, wanted: set[str], ending: str) -> None:
        """The list goes, and shards of an earlier try that this export does not have."""
        self._path.unlink(missing_ok=True)
        for path in self._path.parent.glob(f"*{ending}"):
            if path.name not in wanted:
                path.unlink()


def _digest(numbered: Sequence[tuple[int, ExportRow]]) -> str:
    """Of all that goes into a shard; an image counts as the same by place, size and time."""
    digest = hashlib.sha256()
    for number, row in numbered:
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
