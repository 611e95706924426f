"""Exports: whole or not at all.

Everything is written into a temporary folder beside the target and renamed when it is complete; a
killed export leaves the target as it was, and one in shards goes on at its next start. A folder is
replaced only if it is an earlier export.
"""

import csv
import glob
import hashlib
import json
import logging
import os
import re
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.containers import ImageFile, Member, file_of
from backend.datasets.export_row import (
    COLUMNS,
    FIELDS,
    MARK,
    ExportRow,
    arrow_values,
    json_values,
)
from backend.datasets.formulas import no_formula
from backend.datasets.shard_writing import (
    image_and_ending,
    write_parquet_images,
    write_saved_dataset,
    write_webdataset,
)
from backend.errors import ExportError
from db.processes import is_running

FORMATS = (
    "imagefolder", "csv", "jsonl", "parquet", "webdataset", "parquet-images", "huggingface",
)  # fmt: skip
#: Forms in shards: a stopped export goes on with the next one.
_RESUMABLE = ("webdataset", "parquet-images", "huggingface")
_ROW_GROUP = 5_000

log = logging.getLogger(__name__)


def write_dataset(
    rows: Iterable[ExportRow],
    out: Path,
    *,
    format: str,
    card: str,
    overwrite: bool = False,
    source_root: Path,
    expected: int | None = None,
    files: Mapping[str, str] | None = None,
) -> int:
    """Write `rows` and the card into the folder `out`; returns the number of rows.

    * imagefolder: `images/…` (copies, folders kept) and `metadata.jsonl` with `file_name`.
    * csv, jsonl, parquet: one table with `image_path`, absolute, into the source; nothing copied.
    * webdataset, parquet-images, huggingface: shards that hold the images (`shard_writing`).
    * `files`: further texts to write beside, by name.

    Raises ExportError, leaving nothing behind, if the target exists (and is no export to
    overwrite), an image is gone, or not `expected` rows came.
    """
    if format not in FORMATS:
        raise ExportError(f"'{format}' is no export format; use one of: {', '.join(FORMATS)}.")
    out = out.expanduser().absolute()
    _check_target(out, overwrite)
    root = source_root.resolve()
    if out.resolve() == root or root.is_relative_to(out.resolve()):
        raise ExportError(f"{out} holds the dataset itself. Choose another folder.")
    part = _beside(out, f"part.{format.replace('-', '_')}")
    is_resumable = format in _RESUMABLE
    try:
        _clear_up(out, part if is_resumable else None)
        part.mkdir(parents=True, exist_ok=True)
        (part / MARK).write_text("Written by TRACED Curator. Safe to overwrite by it.\n")
        (part / "README.md").write_text(card, encoding="utf-8")
        for name, text in (files or {}).items():
            (part / name).write_text(text, encoding="utf-8")
        written = _WRITERS[format](rows, part, root)
        if expected is not None and written != expected:
            raise ExportError(
                f"{written} pairs were written where {expected} were counted: verdicts changed "
                "meanwhile. Nothing was kept; export again."
            )
        _write_checksums(part)
        _put_in_place(part, out)
    except Exception as problem:
        shutil.rmtree(part, ignore_errors=True)
        if not isinstance(problem, OSError):
            raise
        raise ExportError(
            f"{out} could not be written: {problem.strerror or problem}. Nothing was kept."
        ) from problem
    except BaseException:  # stopped by its user: as good as killed
        if not is_resumable:
            shutil.rmtree(part, ignore_errors=True)
        raise
    return written


def _check_target(out: Path, overwrite: bool) -> None:
    if out.is_file() or out.is_symlink():
        raise ExportError(f"{out} is a file. Give the name of a folder.")
    if not out.exists():
        return
    if any(out.iterdir()) and not (out / MARK).is_file():
        raise ExportError(f"{out} holds other files. Choose an empty or a new folder.")
    if (out / MARK).is_file() and not overwrite:
        raise ExportError(f"{out} holds an earlier export. Choose another folder, or overwrite it.")


def _beside(out: Path, what: str) -> Path:
    """A name that says whose it is: folders may be shared by several machines."""
    return out.with_name(f".{out.name}.{what}-{os.getpid()}-{socket.gethostname()}")


def _clear_up(out: Path, part: Path | None) -> None:
    """What exports into this place left that were stopped: an earlier one that was about to be
    replaced comes back; a half one becomes `part`, to go on with, or goes."""
    for left in out.parent.glob(f".{glob.escape(out.name)}.*-*-*"):
        what, process, host = left.name.removeprefix(f".{out.name}.").split("-", 2)
        if host != socket.gethostname() or not process.isdigit():
            continue
        if int(process) != os.getpid() and is_running(int(process)):
            continue
        if what == "old" and not out.exists():
            left.rename(out)
            log.warning("%s: the earlier export, put back after one that was stopped", out)
        elif (
            part is not None
            and part.name.startswith(f".{out.name}.{what}-")
            and (left == part or not part.exists())
        ):
            left.rename(part)
            log.warning("%s: going on with what an export had written that was stopped", out)
        else:
            shutil.rmtree(left, ignore_errors=True)
            log.warning("%s: what a stopped export had left is cleared away", left)


def _write_checksums(part: Path) -> None:
    """SHA256SUMS of everything written, as `sha256sum --check` reads it."""
    lines = []
    for path in sorted(p for p in part.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(part).as_posix()}\n")
    (part / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _put_in_place(part: Path, out: Path) -> None:
    """Rename; an earlier export goes only when the new one stands."""
    old = _beside(out, "old")
    if out.exists():
        os.rename(out, old)
    try:
        os.rename(part, out)
    except OSError:
        if old.exists():
            os.rename(old, out)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _imagefolder(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    names: dict[ImageFile, str] = {}
    count = 0
    with (part / "metadata.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            if row.image_path not in names:
                names[row.image_path] = _copy(row.image_path, part, root)
            line = {"file_name": names[row.image_path], **json_values(row)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count


def _copy(image: ImageFile, part: Path, root: Path) -> str:
    """Copy one image below `images/`; its path relative to the export."""
    inside = file_of(image).resolve()
    if not inside.is_relative_to(root):
        raise ExportError(f"The image '{image.name}' leads out of {root}. Nothing was kept.")
    if isinstance(image, Member):
        data, ending = image_and_ending(image)
        name = re.sub(r"[^\w.-]+", "_", image.inner.removesuffix(ending))[-120:].strip(".") or "_"
        relative = Path("images") / inside.relative_to(root).with_suffix("") / f"{name}{ending}"
    else:
        relative = Path("images") / inside.relative_to(root)
    target = part / relative
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if isinstance(image, Member):
            target.write_bytes(data)
        else:
            shutil.copyfile(inside, target)
    except FileNotFoundError as problem:
        raise ExportError(f"The image '{image}' is gone. Nothing was kept.") from problem
    return relative.as_posix()


def _jsonl(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    count = 0
    with (part / "data.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            line = {"image_path": str(row.image_path), **json_values(row)}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count


def _csv(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    """Other columns of the source go into one JSON column: rows may differ in them."""
    count = 0
    with (part / "data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_path", *COLUMNS, "extra"])
        for row in rows:
            cells = [str(row.image_path)]
            for name in COLUMNS:
                value = getattr(row, name)
                cells.append(" ".join(value) if name == "tags" else "" if value is None else value)
            extra = json.dumps(row.extra, ensure_ascii=False) if row.extra else ""
            writer.writerow([no_formula(cell) for cell in (*cells, extra)])
            count += 1
    return count


def _parquet(rows: Iterable[ExportRow], part: Path, root: Path) -> int:
    schema = pa.schema([("image_path", pa.string()), *FIELDS])
    count = 0
    with pq.ParquetWriter(part / "data.parquet", schema) as writer:
        for group in _groups(rows):
            values = [{"image_path": str(row.image_path), **arrow_values(row)} for row in group]
            writer.write_table(pa.Table.from_pylist(values, schema))
            count += len(group)
    return count


def _groups(rows: Iterable[ExportRow]) -> Iterator[list[ExportRow]]:
    group: list[ExportRow] = []
    for row in rows:
        group.append(row)
        if len(group) == _ROW_GROUP:
            yield group
            group = []
    if group:
        yield group


_WRITERS = {
    "imagefolder": _imagefolder,
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "webdataset": write_webdataset,
    "parquet-images": write_parquet_images,
    "huggingface": write_saved_dataset,
}
