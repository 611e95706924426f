"""Datasets that carry their images: WebDataset tars, Parquet, saved Hugging Face datasets.

A shard holds so many pairs of one split, in the order in which they come. The bytes of images are
those of the source; nothing is decoded.
"""

import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from backend.datasets.containers import ImageFile, Member
from backend.datasets.export_row import FIELDS, ExportRow, arrow_values, json_values
from backend.errors import ExportError

#: Pairs a shard, and pairs that are written together.
SHARD = 10_000
_GROUP = 100
_UNNAMED = "train"
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

    def open_shard(split: str, number: int) -> tarfile.TarFile:
        return tarfile.open(part / f"{split}-{number:06d}.tar", "w", format=tarfile.PAX_FORMAT)

    def write(archive: tarfile.TarFile, numbered: list[tuple[int, ExportRow]]) -> None:
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

    return _sharded(rows, open_shard, write)


def write_parquet_images(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    """`train-00000.parquet`, …: the image as a struct of bytes and path, as Hugging Face has it."""

    def open_shard(split: str, number: int) -> pq.ParquetWriter:
        return pq.ParquetWriter(part / f"{split}-{number:05d}.parquet", _SCHEMA)

    def write(writer: pq.ParquetWriter, numbered: list[tuple[int, ExportRow]]) -> None:
        writer.write_table(
            pa.Table.from_pylist([_cells(number, row) for number, row in numbered], _SCHEMA)
        )

    return _sharded(rows, open_shard, write)


def write_saved_dataset(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    """What `datasets.load_from_disk` reads: a DatasetDict of the splits, images as `Image`."""
    import datasets

    datasets.disable_progress_bars()
    with tempfile.TemporaryDirectory(dir=part) as between:
        count = write_parquet_images(rows, Path(between), root)
        files: dict[str, list[str]] = {}
        for shard in sorted(Path(between).glob("*.parquet")):
            files.setdefault(shard.stem.rpartition("-")[0], []).append(str(shard))
        found = datasets.load_dataset(
            "parquet", data_files=files, cache_dir=str(Path(between) / "cache")
        )
        found = found.cast_column("image", datasets.Image())
        found.save_to_disk(str(part))
        del found
    return count


def _cells(number: int, row: ExportRow) -> dict[str, Any]:
    data, ending = image_and_ending(row.image_path)
    return {"image": {"bytes": data, "path": f"{number:09d}{ending}"}, **arrow_values(row)}


def _sharded(
    rows: Iterable[ExportRow],
    open_shard: Callable[[str, int], Any],
    write: Callable[[Any, list[tuple[int, ExportRow]]], None],
) -> int:
    """Hand the rows out to shards by their split; the number of rows."""
    waiting: dict[str, list[tuple[int, ExportRow]]] = {}
    shards: dict[str, Any] = {}
    held: dict[str, int] = {}
    numbers: dict[str, int] = {}
    count = 0
    with ExitStack() as stack:

        def flush(split: str) -> None:
            if split not in shards:
                shards[split] = open_shard(split, numbers.get(split, 0))
                stack.callback(_close, shards, split)
            write(shards[split], waiting[split])
            held[split] = held.get(split, 0) + len(waiting.pop(split))
            if held[split] >= SHARD:
                _close(shards, split)
                held[split], numbers[split] = 0, numbers.get(split, 0) + 1

        for number, row in enumerate(rows):
            split = _file_name(row.split)
            waiting.setdefault(split, []).append((number, row))
            count += 1
            if len(waiting[split]) == min(_GROUP, SHARD):
                flush(split)
        for split in list(waiting):
            flush(split)
    return count


def _close(shards: dict[str, Any], split: str) -> None:
    if split in shards:
        shards.pop(split).close()


def _file_name(split: str | None) -> str:
    """A split as part of a file's name; one that cannot be is called as the unnamed one."""
    plain = "".join(c for c in split or "" if c.isalnum() or c == "_")
    return plain[:80] or _UNNAMED
