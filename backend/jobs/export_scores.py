"""`score --out`: one row per pair, for further processing.

Columns: `id` (the dataset's own), `s_0` (higher is a better match), `p_error` (higher is worse),
`icc` (higher is more concrete), `specificity` (log-probability, at most 0; higher is more
specific), `suspects` (a list of [start, end, score] in characters of the caption; higher is more
suspect), `support` (how strongly the image supports its phrases; low is hollow), `weakest` (the
lowest support of a phrase), `phrases` (a list of start, end, kind and pas: the drop in s if the
phrase is replaced by nonsense). Unknown values are null.
"""

import json
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.engine.phrases.spans import KINDS
from backend.errors import ExportError
from backend.store import Store
from db.queries import detections as detection_queries
from db.queries import pairs as pair_queries
from db.queries import phrase_scores as phrase_queries
from db.queries.phrase_scores import PhraseRow

_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("s_0", pa.float32()),
        ("p_error", pa.float32()),
        ("icc", pa.float32()),
        ("specificity", pa.float32()),
        ("suspects", pa.list_(pa.list_(pa.float32()))),
        ("support", pa.float32()),
        ("weakest", pa.float32()),
        (
            "phrases",
            pa.list_(
                pa.struct(
                    [
                        ("start", pa.int32()),
                        ("end", pa.int32()),
                        ("kind", pa.string()),
                        ("pas", pa.float32()),
                    ]
                )
            ),
        ),
    ]
)
_ROW_GROUP = 5_000
#: Pairs read per batch, with two statements.
_AT_ONCE = 1_000


def check(out: Path) -> None:
    """Raise ExportError if `out` has the wrong ending or its folder does not exist."""
    if out.suffix not in (".jsonl", ".parquet"):
        raise ExportError(f"'{out.name}' must end in .jsonl or .parquet.")
    if not out.resolve().parent.is_dir():
        raise ExportError(f"The folder {out.resolve().parent} does not exist. Create it first.")
    if out.is_dir():
        raise ExportError(f"'{out}' is a folder. Give the name of a file.")


def write(store: Store, dataset_id: int, out: Path) -> int:
    """Write all pairs of the dataset; the file is written atomically. Returns the number of
    rows."""
    check(out)
    temporary = out.with_name(f".{out.name}.part")
    try:
        rows = score_rows(store, dataset_id)
        written = _jsonl(rows, temporary) if out.suffix == ".jsonl" else _parquet(rows, temporary)
        os.replace(temporary, out)
    except OSError as problem:
        raise ExportError(
            f"{out} could not be written: {problem.strerror or problem}."
        ) from problem
    finally:
        temporary.unlink(missing_ok=True)
    return written


def score_rows(store: Store, dataset_id: int) -> Iterator[dict[str, Any]]:
    """All pairs in order of import, as dictionaries of the columns above."""
    with store.reading() as session:
        after = 0
        while pairs := pair_queries.pairs_after(session, dataset_id, after, _AT_ONCE):
            ids = [pair.id for pair in pairs]
            detections = detection_queries.detections_of(session, ids)
            phrases = phrase_queries.phrases_of_many(session, dataset_id, ids)
            for pair in pairs:
                detection = detections.get(pair.id)
                suspects = detection.suspects if detection is not None else ()
                yield {
                    "id": pair.external_id,
                    "s_0": pair.s_0,
                    "p_error": pair.p_error,
                    "icc": pair.icc,
                    "specificity": pair.specificity,
                    "suspects": [[start, end, round(score, 4)] for start, end, score in suspects],
                    "support": pair.support,
                    "weakest": pair.weakest,
                    "phrases": _phrases(phrases.get(pair.id)),
                }
            after = pairs[-1].id


def _phrases(rows: list[PhraseRow] | None) -> list[dict[str, Any]] | None:
    if rows is None:
        return None
    return [
        {"start": phrase.start, "end": phrase.end, "kind": KINDS[phrase.kind], "pas": phrase.pas}
        for phrase in rows
    ]


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
