"""`score --out`: a row a pair, for programs that go on from here.

Columns: `id` (the dataset's own), `s_0` (higher is a better match), `p_error` (higher is worse),
`icc` (higher is more concrete), `suspects` (a list of [start, end, score] in characters of the
caption; higher is more suspect). A figure that is not known is null.
"""

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.errors import ExportError
from backend.store import Store
from db.queries import detections as detection_queries
from db.queries import pairs as pair_queries

_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("s_0", pa.float32()),
        ("p_error", pa.float32()),
        ("icc", pa.float32()),
        ("suspects", pa.list_(pa.list_(pa.float32()))),
    ]
)
_ROW_GROUP = 5_000


def check(out: Path) -> None:
    """Raise ExportError if `out` has the wrong ending or its folder does not exist."""
    if out.suffix not in (".jsonl", ".parquet"):
        raise ExportError(f"'{out.name}' must end in .jsonl or .parquet.")
    if not out.resolve().parent.is_dir():
        raise ExportError(f"The folder {out.resolve().parent} does not exist. Make it first.")
    if out.is_dir():
        raise ExportError(f"'{out}' is a folder. Give the name of a file.")


def write(store: Store, dataset_id: int, out: Path) -> int:
    """Write all pairs of the dataset; the file appears whole or not at all. Returns the rows."""
    check(out)
    temporary = out.with_name(f".{out.name}.part")
    try:
        rows = _rows(store, dataset_id)
        written = _jsonl(rows, temporary) if out.suffix == ".jsonl" else _parquet(rows, temporary)
        os.replace(temporary, out)
    except OSError as problem:
        raise ExportError(
            f"{out} could not be written: {problem.strerror or problem}."
        ) from problem
    finally:
        temporary.unlink(missing_ok=True)
    return written


def _rows(store: Store, dataset_id: int) -> Iterator[dict[str, Any]]:
    with store.reading() as session:
        for pair in pair_queries.iterate_pairs(session, dataset_id):
            detection = detection_queries.get_detection(session, pair.id)
            suspects = detection.suspects if detection is not None else ()
            yield {
                "id": pair.external_id,
                "s_0": pair.s_0,
                "p_error": pair.p_error,
                "icc": pair.icc,
                "suspects": [[start, end, round(score, 4)] for start, end, score in suspects],
            }


def _jsonl(rows: Iterator[dict[str, Any]], path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _parquet(rows: Iterator[dict[str, Any]], path: Path) -> int:
    count = 0
    with pq.ParquetWriter(path, _SCHEMA) as writer:
        while group := list(islice(rows, _ROW_GROUP)):
            writer.write_table(pa.Table.from_pylist(group, _SCHEMA))
            count += len(group)
    return count
