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
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from backend.datasets.containers import ImageFile, Member, file_of
from backend.datasets.export_row import FIELDS, ExportRow, arrow_values, json_values
from backend.errors import ExportError

#: Pairs a shard, and pairs that are written together.
SHARD = 10_000
_GROUP = 100
_UNNAMED = "train"
#: In a folder of shards that is not complete: those that are.
FINISHED = ".finished"
#: Endings by Pillow's names of formats, for images that lost theirs.
ENDING_OF = {"JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp",
              "TIFF": ".tiff", "PPM": ".ppm", "AVIF": ".avif"}  # fmt: skip

_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_SCHEMA = pa.schema([("image", _IMAGE), *FIELDS])


def image_and_ending(image: ImageFile) -> tuple[bytes, str]:
    """The image's bytes, and the ending of a file with them. Raises ExportError if it is gone."""
    try:
        data = image.read() if isinstance(image, Member) else image.read_bytes()
    except FileNotFoundError as problem:
        raise ExportError(f"The image '{image.name}' is gone. Nothing was kept.") from problem
    ending = Path(image.name).suffix.lower()
    if ending in ENDING_OF.values() or ending == ".jpeg":
        return data, ending
    with Image.open(io.BytesIO(data)) as opened:
        return data, ENDING_OF.get(opened.format or "", ".img")


def write_webdataset(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    """`train-000000.tar`, …: a sample a pair, its image, its caption as `.txt`, the rest as
    `.json`."""

    def write(path: Path, numbered: Sequence[tuple[int, ExportRow]]) -> None:
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
            for number, row in numbered:
                data, ending = image_and_ending(row.image_path)
                values = {k: v for k, v in json_values(row).items() if k != "caption"}
                members = (
                    (ending, data),
                    (".txt", row.caption.encode()),
                    (".json", json.dumps(values, ensure_ascii=False).encode()),
                )
                for suffix, content in members:
                    entry = tarfile.TarInfo(f"{number:09d}{suffix}")
                    entry.size, entry.mode = len(content), 0o644
                    archive.addfile(entry, io.BytesIO(content))

    return _sharded(rows, part, "{split}-{number:06d}.tar", write)


def write_parquet_images(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    """`train-00000.parquet`, …: the image as a struct of bytes and path, as Hugging Face has it."""

    def write(path: Path, numbered: Sequence[tuple[int, ExportRow]]) -> None:
        with pq.ParquetWriter(path, _SCHEMA) as writer:
            for first in range(0, len(numbered), _GROUP):
                cells = [_cells(number, row) for number, row in numbered[first : first + _GROUP]]
                writer.write_table(pa.Table.from_pylist(cells, _SCHEMA))

    return _sharded(rows, part, "{split}-{number:05d}.parquet", write)


def write_saved_dataset(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    """What `datasets.load_from_disk` reads: a DatasetDict of the splits, images as `Image`."""
    import datasets

    datasets.disable_progress_bars()
    between = part / ".between"
    between.mkdir(exist_ok=True)
    count = write_parquet_images(rows, between, root)
    files: dict[str, list[str]] = {}
    for shard in sorted(between.glob("*.parquet")):
        files.setdefault(shard.stem.rpartition("-")[0], []).append(str(shard))
    for half in (path for path in part.iterdir() if path.is_dir() and path != between):
        shutil.rmtree(half)  # of an export that was stopped at what follows
    with tempfile.TemporaryDirectory(dir=part) as cache:
        found = datasets.load_dataset("parquet", data_files=files, cache_dir=cache)
        found = found.cast_column("image", datasets.Image())
        found.save_to_disk(str(part))
        del found
    shutil.rmtree(between)
    return count


def _cells(number: int, row: ExportRow) -> dict[str, Any]:
    data, ending = image_and_ending(row.image_path)
    return {"image": {"bytes": data, "path": f"{number:09d}{ending}"}, **arrow_values(row)}


def _sharded(
    rows: Iterable[ExportRow],
    part: Path,
    name: str,
    write: Callable[[Path, Sequence[tuple[int, ExportRow]]], None],
) -> int:
    """Hand the rows out to shards by their split; the number of rows.

    A shard that an export before this one has finished, of the same rows and images, stays.
    """
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
        digest = _digest(numbered)
        if not finished.has(path, digest):
            half = path.with_suffix(".half")
            write(half, numbered)
            half.replace(path)
            finished.add(path, digest)

    for number, row in enumerate(rows):
        split = _file_name(row.split)
        waiting.setdefault(split, []).append((number, row))
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
    found = hashlib.sha256()
    for number, row in numbered:
        try:
            status = file_of(row.image_path).stat()
        except OSError as problem:
            raise ExportError(
                f"The image '{row.image_path.name}' is gone. Nothing was kept."
            ) from problem
        image = [str(row.image_path), status.st_size, status.st_mtime_ns]
        told = json.dumps([number, image, json_values(row)], ensure_ascii=True, default=str)
        found.update(told.encode())
    return found.hexdigest()


def _file_name(split: str | None) -> str:
    """A split as part of a file's name; one that cannot be is called as the unnamed one."""
    plain = "".join(c for c in split or "" if c.isalnum() or c == "_")
    return plain[:80] or _UNNAMED
