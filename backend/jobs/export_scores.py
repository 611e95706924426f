"""`score --out` and `--features`: one row per pair, for further processing.

A file's ending decides its form: .jsonl, .parquet, or .csv, whose lists are JSON in a cell and
whose null is an empty cell.

`--features` has the columns `id`, of a claim its characters `start` and `end` in the caption, its
`p_error` and the `verdict` on it (right, wrong or null), and
`backend.engine.detection.features.NAMES`, which the detectors read; steps beyond the end of a
trajectory are null. A caption of several claims has a row for each; pairs without a trajectory are
left out.

Columns of `--out`: `id` (the dataset's own), `caption`, the measures that are exported
(`backend.measures`), `suspects` (a list of [start, end, score] in characters of the caption; higher
is more suspect; in Parquet a list of records),
`phrases` (a list of start, end, kind and pas: the drop in s if the phrase is replaced by nonsense),
and if any caption has several, `claims` (a list: see `KnownClaim.cells`); the lists that features
and packages add (`export_steps`; null for a pair that has none); if parts were not judged because
they are constant, `constants` (a list of [start, end]). Unknown values are null.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.cells import escape
from backend.datasets.safe_files.regular_files import replacement
from backend.engine.constants.part import ConstantPart, left_out, spans_in
from backend.engine.detection.features import NAMES, feature_matrix
from backend.engine.english.phrases import KINDS
from backend.errors import ExportError
from backend.jobs import export_steps
from backend.jobs.export_steps import TABLE_ENDINGS, ListsOfDataset
from backend.jobs.scoring.dataset_constants import constants_before
from backend.jobs.scoring.stored_claims import CLAIMS, claim_names, known_claims
from backend.jobs.scoring.stored_rows import latest_batches
from backend.measures import export_names
from backend.store import Store
from db.decisions import RIGHT_OR_WRONG, is_wrong
from db.queries import (
    claim_queries,
    detection_queries,
    pair_queries,
    phrase_queries,
)
from db.queries.detection_queries import DetectionRow
from db.queries.phrase_queries import PhraseRow

#: The type of the column of claims in Parquet.
CLAIM_CELLS = pa.list_(
    pa.struct(
        [
            ("start", pa.int32()),
            ("end", pa.int32()),
            *((name, pa.float32()) for name in claim_names()),
            ("verdict", pa.string()),
        ]
    )
)
_CONSTANTS = "constants"
_RANGES = pa.list_(pa.list_(pa.int32()))
#: The column of suspect words, and the type of one of them in Parquet.
SUSPECTS = "suspects"
SUSPECT = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("score", pa.float32())])
_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("caption", pa.string()),
        *((name, pa.float32()) for name in export_names()),
        (SUSPECTS, pa.list_(SUSPECT)),
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
COLUMNS_OF_SCORES = tuple(_SCHEMA.names)
#: What `feature_rows` have beside the features; of a caption that is one claim, of the pair.
OF_CLAIMS = ("start", "end", "p_error", "verdict")
_FEATURES = pa.schema(
    [
        ("id", pa.string()), ("start", pa.int32()), ("end", pa.int32()),
        ("p_error", pa.float32()), ("verdict", pa.string()),
        *((name, pa.float64()) for name in NAMES),
    ]
)  # fmt: skip
_ROW_GROUP = 5_000
#: Pairs read per batch, with two statements.
_AT_ONCE = 1_000


def check(out: Path, endings: Sequence[str] = TABLE_ENDINGS) -> None:
    """Raise ExportError if `out` has none of the endings or its folder does not exist."""
    if out.suffix not in endings:
        *others, last = endings
        either = f"{', '.join(others)} or {last}" if others else last
        raise ExportError(f"'{out.name}' must end in {either}.")
    if not out.resolve().parent.is_dir():
        raise ExportError(f"The folder {out.resolve().parent} does not exist. Create it first.")
    if out.is_dir():
        raise ExportError(f"'{out}' is a folder. Give the name of a file.")


def write(store: Store, dataset_id: int, out: Path) -> int:
    """Write the scores of all pairs; the file is written atomically. Returns the number of rows."""
    has_claims = store.read(claim_queries.count_claims, dataset_id).several > 0
    added = store.read(export_steps.lists_of, dataset_id)
    parts = left_out(constants_before(store, dataset_id))
    schema = _SCHEMA.append(pa.field(CLAIMS, CLAIM_CELLS)) if has_claims else _SCHEMA
    for name, type_ in added.types.items():
        schema = schema.append(pa.field(name, type_))
    if parts:
        schema = schema.append(pa.field(_CONSTANTS, _RANGES))
    rows = _score_rows(store, dataset_id, added, parts)
    return write_rows(({name: row[name] for name in schema.names} for row in rows), schema, out)


def write_features(store: Store, dataset_id: int, out: Path) -> int:
    """Write the features of all scored pairs, like `write`."""
    return write_rows(feature_rows(store, dataset_id), _FEATURES, out)


def write_rows(rows: Iterator[dict[str, Any]], schema: pa.Schema, out: Path) -> int:
    """Write rows of the schema's columns; returns their number. Raises as `check`."""
    writers = {".jsonl": _jsonl, ".csv": _csv, ".parquet": write_parquet}
    with new_file(out) as part:
        return writers[out.suffix](rows, schema, part)


@contextmanager
def new_file(out: Path, endings: Sequence[str] = TABLE_ENDINGS) -> Iterator[Path]:
    """`replacement` of a file that people named. Raises as `check`, and ExportError for OSError."""
    check(out, endings)
    try:
        with replacement(out) as part:
            yield part
    except OSError as problem:
        raise ExportError(f"{out}: {problem.strerror or problem}.") from problem


def score_rows(store: Store, dataset_id: int) -> Iterator[dict[str, Any]]:
    """All pairs in order of import, as dictionaries of the columns above."""
    added = store.read(export_steps.lists_of, dataset_id)
    return _score_rows(store, dataset_id, added, left_out(constants_before(store, dataset_id)))


def _score_rows(
    store: Store, dataset_id: int, added: ListsOfDataset, parts: Sequence[ConstantPart]
) -> Iterator[dict[str, Any]]:
    """`parts`: those that were not judged."""
    with store.reading() as session:
        after = 0
        while pairs := pair_queries.pairs_after(session, dataset_id, after, _AT_ONCE):
            ids = [pair.id for pair in pairs]
            detections = detection_queries.detections_of(session, ids)
            phrases = phrase_queries.phrases_of_many(session, dataset_id, ids)
            claims = known_claims(session, pairs)
            added_lists = added.of_pairs(session, ids)
            for pair in pairs:
                detection = detections.get(pair.id)
                yield {
                    "id": pair.external_id,
                    "caption": pair.caption,
                    **{name: pair.numbers[name] for name in export_names()},
                    "suspects": suspect_cells(detection),
                    "phrases": _phrases(phrases.get(pair.id)),
                    CLAIMS: [claim.cells() for claim in claims.get(pair.id, ())],
                    **{name: by_id.get(pair.id) for name, by_id in added_lists.items()},
                    _CONSTANTS: [[start, end] for start, end, _ in spans_in(pair.caption, parts)],
                }
            after = pairs[-1].id


def feature_rows(store: Store, dataset_id: int) -> Iterator[dict[str, Any]]:
    """The claims of all scored pairs in order of import, as dictionaries of `id`, OF_CLAIMS and the
    features. The only claim of a caption has the chance and the verdict of its pair."""
    for pairs, captions in latest_batches(store, dataset_id):
        claims_of = store.read(known_claims, pairs)
        claims = [
            (pair, scored_claim)
            for pair, caption in zip(pairs, captions, strict=True)
            for scored_claim in caption.claims
        ]
        features = feature_matrix([scored_claim.trajectory for _, scored_claim in claims]).tolist()
        for (pair, scored_claim), values in zip(claims, features, strict=True):
            start, end, p_error, verdict = 0, len(pair.caption), pair.p_error, None
            if pair.judgement in RIGHT_OR_WRONG:
                verdict = "wrong" if is_wrong(pair.judgement) else "right"
            for each in claims_of.get(pair.id, ()):
                if each.claim.start == scored_claim.claim.start:
                    start, end = each.claim.start, each.claim.end
                    p_error, verdict = each.numbers["p_error"], each.cells()["verdict"]
            of_claim = zip(OF_CLAIMS, (start, end, p_error, verdict), strict=True)
            yield {"id": pair.external_id, **dict(of_claim), **feature_cells(values)}


def feature_cells(values: Sequence[float]) -> dict[str, float | None]:
    """A row of `feature_matrix` by the features' names."""
    # NaN, beyond the end of a trajectory, is the only value that differs from itself.
    cells = (value if value == value else None for value in values)
    return dict(zip(NAMES, cells, strict=True))


def suspect_cells(detection: DetectionRow | None) -> list[list[float]]:
    """The pair's suspect words as [start, end, score]."""
    suspects = detection.suspects if detection is not None else ()
    return [[start, end, round(score, 4)] for start, end, score in suspects]


def _phrases(rows: list[PhraseRow] | None) -> list[dict[str, Any]] | None:
    if rows is None:
        return None
    return [
        {"start": phrase.start, "end": phrase.end, "kind": KINDS[phrase.kind], "pas": phrase.pas}
        for phrase in rows
    ]


def _jsonl(rows: Iterator[dict[str, Any]], _schema: pa.Schema, path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _csv(rows: Iterator[dict[str, Any]], schema: pa.Schema, path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(schema.names)
        for row in rows:
            writer.writerow([_cell(row[name]) for name in schema.names])
            count += 1
    return count


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else escape(value)


def write_parquet(rows: Iterator[dict[str, Any]], schema: pa.Schema, path: Path) -> int:
    """Write the rows in groups; returns their number."""
    count = 0
    names = [field.name for field in SUSPECT]
    with pq.ParquetWriter(path, schema) as writer:
        while group := list(islice(rows, _ROW_GROUP)):
            if SUSPECTS in schema.names:
                for row in group:
                    row[SUSPECTS] = [dict(zip(names, s, strict=True)) for s in row[SUSPECTS]]
            writer.write_table(pa.Table.from_pylist(group, schema))
            count += len(group)
    return count
