"""Download the images of a table of addresses (LAION and its like) into an imagefolder.

The only place that fetches what a dataset names, and only on an explicit command. Rows that have
been dealt with are written down one by one, so the same command goes on where it stopped.
"""

import io
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image

from backend.datasets.columns import CAPTION_NAMES
from backend.datasets.fetching import Fetcher, FetchError, Limits
from backend.datasets.images import MOST_PIXELS
from backend.datasets.shard_writing import ENDING_OF
from backend.datasets.tables import row_count, rows_of
from backend.errors import DatasetFormatError, DatasetNotFound, SettingsError
from backend.pipeline import Progress, no_progress

_ADDRESS_NAMES = ("url", "image_url", "image_link", "link", "src")
_WORKERS = 16
_AT_ONCE = 64
_A_FOLDER = 10_000


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
    if not table.is_file():
        raise DatasetNotFound(f"There is no file '{table}'.")
    out.mkdir(parents=True, exist_ok=True)
    _check_folder(out, table)
    done, failed = out / "metadata.jsonl", out / "failures.jsonl"
    known = {row for path in (done, failed) for row in _rows_in(path)}
    total = row_count(table)
    total = at_most if total is None else min(total, at_most or total)
    fetcher = Fetcher(limits, _WORKERS)
    rows = _wanted(table, url_column, caption_column)
    counts = {"rows": 0, "written": 0, "failed": 0, "already_there": 0}
    try:
        with (
            ThreadPoolExecutor(_WORKERS) as pool,
            done.open("a", encoding="utf-8", newline="\n") as good,
            failed.open("a", encoding="utf-8", newline="\n") as bad,
        ):
            numbered = islice(rows, at_most)
            while batch := list(islice(numbered, _AT_ONCE)):
                counts["rows"] += len(batch)
                new = [one for one in batch if one["row"] not in known]
                counts["already_there"] += len(batch) - len(new)
                for line in pool.map(lambda one: _one(fetcher, out, one), new):
                    wrong = "reason" in line
                    counts["failed" if wrong else "written"] += 1
                    (bad if wrong else good).write(json.dumps(line, ensure_ascii=False) + "\n")
                for file in (good, bad):
                    file.flush()
                    os.fsync(file.fileno())
                progress(counts["rows"], total or 0, "Downloading")
    finally:
        fetcher.close()
    return DownloadReport(str(out), **counts)


def _check_folder(out: Path, table: Path) -> None:
    """A folder is only gone on with by the table that began it."""
    mark = out / "download.json"
    wanted = {"table": str(table.resolve())}
    if mark.is_file():
        if json.loads(mark.read_text("utf-8")) != wanted:
            raise SettingsError(f"{out} holds the download of another table. Choose a new folder.")
    elif any(out.iterdir()):
        raise SettingsError(f"{out} holds other files. Choose an empty or a new folder.")
    else:
        mark.write_text(json.dumps(wanted), encoding="utf-8")


def _rows_in(path: Path) -> Iterator[int]:
    """Rows that have been dealt with; half a line that a kill has left is cut off."""
    if not path.is_file():
        return
    whole = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            yield int(json.loads(line)["row"])
    if whole != path.stat().st_size:
        os.truncate(path, whole)


def _wanted(
    table: Path, url_column: str | None, caption_column: str | None
) -> Iterator[dict[str, Any]]:
    """Each row's number, address, caption and other columns."""
    names: tuple[str, str] | None = None
    for row in rows_of(table):
        if row.values is None:
            continue
        if names is None:
            names = (
                _column(row.values, url_column, _ADDRESS_NAMES, "address", "--url-column"),
                _column(row.values, caption_column, CAPTION_NAMES, "caption", "--caption-column"),
            )
        url, caption = (row.values.get(name) for name in names)
        others = {k: v for k, v in row.values.items() if k not in names and _is_json(v)}
        yield {
            **others,
            "row": row.number,
            "url": "" if url is None else str(url).strip(),
            "caption": "" if caption is None else str(caption),
        }


def _column(
    values: dict[str, Any], given: str | None, usual: tuple[str, ...], what: str, option: str
) -> str:
    lower = {name.strip().lower(): name for name in reversed(list(values))}
    found = given if given in values else next((lower[n] for n in usual if n in lower), None)
    if found is None or (given is not None and given not in values):
        raise DatasetFormatError(
            f"The table has no column with the {what}. Its columns: {', '.join(values)}. "
            f"Name it with {option}."
        )
    return found


def _one(fetcher: Fetcher, out: Path, row: dict[str, Any]) -> dict[str, Any]:
    """The row's line: with `file_name` if its image is on the disk now, else with a `reason`."""
    try:
        data = fetcher.fetch(row["url"])
        ending = _checked(data)
    except FetchError as problem:
        return {"row": row["row"], "url": row["url"], "reason": str(problem)}
    name = f"images/{row['row'] // _A_FOLDER:05d}/{row['row']:09d}{ending}"
    target = out / name
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_suffix(".part")
    part.write_bytes(data)
    os.replace(part, target)
    return {"file_name": name, **row}


def _checked(data: bytes) -> str:
    """The ending for the image; FetchError if these bytes are none that can be shown."""
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise FetchError("the image has too many pixels")
            image.load()
            return ENDING_OF.get(image.format or "", ".img")
    except FetchError:
        raise
    except Exception as problem:
        # Decoders of damaged files raise whatever they like.
        raise FetchError("it is no image that can be read") from problem


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool)
