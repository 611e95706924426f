"""Download the images of a table of URLs (such as LAION's) into an imagefolder.

The only place that fetches URLs from a dataset, and only on an explicit command. Processed rows are
logged one by one, so that the same command resumes where it stopped.
"""

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.reading.tables import TableRow, row_count, rows_of
from backend.datasets.safe_files.daemon_pool import DaemonPool
from backend.datasets.safe_files.fetching import Fetcher, FetchError, Limits
from backend.datasets.safe_files.images import ImageLimits, decode, opened_image
from backend.datasets.safe_files.regular_files import (
    open_for_append,
    open_regular,
    read_regular,
    replacement,
)
from backend.errors import DatasetFormatError, DatasetNotFound, ImageError, SettingsError
from backend.progress import Progress, no_progress

_ADDRESS_NAMES = ("url", "image_url", "image_link", "link", "src")
_WORKERS = 16
_AT_ONCE = 64
_A_FOLDER = 10_000
#: Keys of our lines; table columns with these names are renamed.
_OURS = ("file_name", "reason", "row", "url", "caption")
#: Extensions by Pillow's format names.
_ENDING_OF = {
    "JPEG": ".jpg", "PNG": ".png", "WEBP": ".webp", "GIF": ".gif", "BMP": ".bmp",
    "TIFF": ".tiff", "PPM": ".ppm", "AVIF": ".avif", "MPO": ".jpg", "JPEG2000": ".jp2",
    "QOI": ".qoi", "TGA": ".tga",
}  # fmt: skip


@dataclass(frozen=True)
class DownloadReport:
    """`failed` rows are listed with their reasons in failures.jsonl."""

    folder: str
    rows: int
    written: int
    failed: int
    already_there: int


def download(
    table: Path,
    out: Path,
    limits: Limits = Limits(),  # noqa: B008  (frozen)
    at_most: int | None = None,
    url_column: str | None = None,
    caption_column: str | None = None,
    progress: Progress = no_progress,
) -> DownloadReport:
    """Fetch the image of every row of `table` (Parquet, CSV, TSV, JSONL) into `out`.

    Raises DatasetNotFound, DatasetFormatError, and SettingsError if `out` holds something else.
    """
    if table.is_dir():
        raise DatasetFormatError(f"'{table}' is a folder. Name the table of addresses in it.")
    if not table.is_file():
        raise DatasetNotFound(f"There is no file '{table}'.")
    out.mkdir(parents=True, exist_ok=True)
    _check_folder(out, table)
    metadata, failures = out / "metadata.jsonl", out / "failures.jsonl"
    earlier_rows = {row for path in (metadata, failures) for row in _rows_in(path)}
    total = row_count(table)
    total = at_most if total is None else min(total, at_most or total)
    fetcher = Fetcher(limits, _WORKERS)
    rows = _wanted_rows(table, url_column, caption_column)
    counts = {"rows": 0, "written": 0, "failed": 0, "already_there": 0}
    try:
        with (
            DaemonPool(_WORKERS) as pool,
            open_for_append(metadata) as good,
            open_for_append(failures) as bad,
        ):
            first_rows = islice(rows, at_most)
            while batch := list(islice(first_rows, _AT_ONCE)):
                counts["rows"] += len(batch)
                new = [row for row in batch if row["row"] not in earlier_rows]
                counts["already_there"] += len(batch) - len(new)
                for line in pool.map_in_order(lambda row: _line(fetcher, limits, out, row), new):
                    wrong = "reason" in line
                    counts["failed" if wrong else "written"] += 1
                    # Lone surrogates, which UTF-8 cannot encode, are JSON-escaped.
                    text = json.dumps(line, ensure_ascii=False) + "\n"
                    (bad if wrong else good).write(text.encode("utf-8", "backslashreplace"))
                for file in (good, bad):
                    file.flush()
                    os.fsync(file.fileno())
                progress(counts["rows"], total or 0, "Downloading")
    finally:
        fetcher.close()
    return DownloadReport(str(out), **counts)


def _check_folder(out: Path, table: Path) -> None:
    """Check that a partial download in the folder comes from the same table."""
    mark = out / "download.json"
    origin = {"table": str(table.resolve())}
    if mark.is_file():
        if json.loads(read_regular(mark)) != origin:
            raise SettingsError(
                f"{out} already contains the download of another table. Choose a new folder."
            )
    elif any(out.iterdir()):
        raise SettingsError(f"{out} contains other files. Choose an empty or a new folder.")
    else:
        with replacement(mark) as part:
            part.write_text(json.dumps(origin), encoding="utf-8")


def _rows_in(path: Path) -> Iterator[int]:
    """Rows already processed; a partial last line left by a kill is truncated."""
    if not path.is_file():
        return
    whole = 0
    with open_regular(path, math.inf) as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            yield int(json.loads(line)["row"])
    if whole != path.stat().st_size:
        os.truncate(path, whole)


def _wanted_rows(
    table: Path, url_column: str | None, caption_column: str | None
) -> Iterator[dict[str, Any]]:
    """Each row's number, URL, caption and other columns; for an unreadable row its number and the
    reason."""
    names: tuple[str, str] | None = None
    for row in rows_of(table):
        if row.values is None:
            yield {"row": row.number, "url": "", "reason": row.problem or "the row cannot be read"}
            continue
        if names is None:
            names = (
                _column(row.values, url_column, _ADDRESS_NAMES, "address"),
                _column(row.values, caption_column, CAPTION_NAMES, "caption"),
            )
        try:
            yield _values(row, *names)
        except Exception as problem:  # a bad cell of any type affects only its row
            yield {"row": row.number, "url": "", "reason": f"the row is invalid: {problem}"}


def _values(row: TableRow, url_name: str, caption_name: str) -> dict[str, Any]:
    values = row.values or {}
    url, caption = values.get(url_name), values.get(caption_name)
    others: dict[str, Any] = {}
    for name, value in values.items():
        if name not in (url_name, caption_name) and _is_json(value):
            while name in _OURS or name in others:
                name = f"source_{name}"
            others[name] = None if isinstance(value, float) and not math.isfinite(value) else value
    return {
        **others,
        "row": row.number,
        "url": "" if url is None else str(url).strip(),
        "caption": "" if caption is None else str(caption),
    }


def _column(values: dict[str, Any], choice: str | None, usual: tuple[str, ...], what: str) -> str:
    lower = {name.strip().lower(): name for name in reversed(list(values))}
    column = choice if choice in values else next((lower[n] for n in usual if n in lower), None)
    if column is None or (choice is not None and choice not in values):
        raise DatasetFormatError(
            f"The table has no column with the {what}. Its columns: {', '.join(values)}.",
            terminal=f"Name it with --{'url' if what == 'address' else what}-column.",
        )
    return column


def _line(fetcher: Fetcher, limits: Limits, out: Path, row: dict[str, Any]) -> dict[str, Any]:
    """The row's line: with `file_name` if its image is on the disk now, else with a `reason`."""
    if "reason" in row:
        return row
    try:
        data = fetcher.fetch(row["url"])
        ending = _ending(data, limits)
    except (FetchError, ImageError) as problem:
        return {"row": row["row"], "url": row["url"], "reason": str(problem)}
    except Exception as problem:  # errors of servers or decoders affect only their row
        reason = f"unexpected: {type(problem).__name__}: {problem}"[:300]
        return {"row": row["row"], "url": row["url"], "reason": reason}
    return {"file_name": _write_image(out, row["row"], data, ending), **row}


def _write_image(out: Path, row: int, data: bytes, ending: str) -> str:
    """Write the image; returns its path relative to `out`. Raises OSError, which is a problem of
    the disk, not of the row."""
    name = f"images/{row // _A_FOLDER:05d}/{row:09d}{ending}"
    target = out / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacement(target, is_flushed=False) as part:
        part.write_bytes(data)
    return name


def _ending(data: bytes, limits: Limits) -> str:
    """The file extension for the image. Raises ImageError if the bytes are not a valid image."""
    image_limits = ImageLimits(limits.pixels, limits.bytes, limits.seconds)
    with opened_image(data, "the image", image_limits) as image:
        decode(image)
        return _ENDING_OF.get(image.format or "", ".img")


def _is_json(value: Any) -> bool:
    """Whether a value can be stored as JSON; integers up to 64 bits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return -(2**63) <= value < 2**64
    return value is None or isinstance(value, str | float | bool)
