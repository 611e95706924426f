"""`score SOURCE --out FOLDER`: score shard by shard; nothing enters the database.

A shard is one file of the source (a tar, a Parquet file, a table). It becomes a dataset in a store
of its own in FOLDER/.work, is scored by the same stages as any other dataset, and is written as one
Parquet file; then the store is deleted. So memory and disk do not grow with the number of shards,
and a command that was killed continues in the middle of a shard.

The first detector is trained once, on one shard, and judges all of them: probabilities of different
shards are comparable. FOLDER/run.json says what computed the results, FOLDER/detector is the
detector. Columns: `id`, `caption`, `p_error`, `s_0`, `icc`, `suspects` (as in `export_scores`),
`model`, and every feature that a detector of first steps reads.
"""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from backend.datasets.read_options import TABLES, is_hidden
from backend.datasets.regular_files import replacement
from backend.datasets.shards import shards_of
from backend.engine.detection.features import NAMES, feature_matrix
from backend.errors import DatasetError, DatasetNotFound, SettingsError, TrainingError
from backend.jobs.export_scores import feature_cells, suspect_cells, write_parquet
from backend.jobs.import_dataset import SHOWN_PROBLEMS, import_dataset
from backend.jobs.reports import ShardsReport
from backend.jobs.score_dataset import run_key, run_of, score_dataset
from backend.jobs.stored_trajectories import latest_batches
from backend.jobs.workers import AUTOMATIC, Devices
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store, open_database
from backend.version import VERSION
from db.queries import classifier_queries, dataset_queries
from db.queries import detections as detection_queries

#: The key of this program's facts in a Parquet file's metadata.
_FACTS = b"traced_curator"
_RUN, _DETECTOR, _WORK = "run.json", "detector", ".work"
#: The detector is trained on the largest of so many shards drawn at random.
_DRAWN = 8
_SCHEMA = pa.schema(
    [
        ("id", pa.string()), ("caption", pa.string()), ("split", pa.string()),
        ("p_error", pa.float32()), ("s_0", pa.float32()), ("icc", pa.float32()),
        ("suspects", pa.list_(pa.list_(pa.float32()))),
        ("model", pa.dictionary(pa.int32(), pa.string())),
        *((name, pa.float32()) for name in NAMES if name != "s_0"),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class Shard:
    """`name`: its path below the source. `state`: its size and time of change; if they differ from
    those of its results, it is scored again."""

    path: Path
    name: str
    state: tuple[int, int]

    def result(self, out: Path) -> Path:
        return out / f"{self.name}.parquet"


@dataclass(frozen=True)
class _Detector:
    kind: str
    report: dict[str, Any]
    payload: bytes


def score_shards(
    engine: Engine,
    source: Path,
    out: Path,
    progress: Progress = no_progress,
    devices: Devices = AUTOMATIC,
    anyway: bool = False,
    seed: int = 0,
) -> ShardsReport:
    """Score every shard of `source` that has no result in the folder `out`.

    A shard that cannot be read is left out and reported. `seed`: of the shard that trains the
    detector. Raises DatasetNotFound, SettingsError for a folder with results of another run, and
    the errors of `score_dataset`.
    """
    source, out = source.absolute(), out.absolute()
    shards = _shards_in(source, out)
    _check_scorer(engine)
    out.mkdir(parents=True, exist_ok=True)
    _claim(out, {"source": str(source), "version": VERSION, "seed": seed, **_identity(engine)})
    work = out / _WORK
    inside = engine.beside(replace(engine.settings, data_directory=work, trajectories="first-step"))
    detector = _first_detector(inside, shards, out, progress, devices, anyway, seed)
    remaining = [shard for shard in shards if not _is_done(shard, out)]
    failed: list[str] = []
    for number, shard in enumerate(remaining):
        progress(len(shards) - len(remaining) + number, len(shards), f"Scoring {shard.name}")
        try:
            _score(inside, shard, out, detector, devices, anyway)
        except DatasetError as problem:
            failed.append(f"{shard.name}: {problem}")
    shutil.rmtree(work, ignore_errors=True)
    facts = [_facts_of(shard.result(out)) for shard in shards if _is_done(shard, out)]
    return ShardsReport(
        shards=len(shards),
        scored_now=len(remaining) - len(failed),
        pairs=sum(fact["pairs"] for fact in facts),
        left_out=sum(fact["left_out"] for fact in facts),
        failed=tuple(failed),
        out=str(out),
    )


def _shards_in(source: Path, out: Path) -> list[Shard]:
    """The source's files, in order of their names."""
    if not source.exists():
        raise DatasetNotFound(f"There is no {source}.")
    if source.is_dir() and (source == out or source in out.parents):
        raise SettingsError(f"{out} lies in the source: its results would be read as shards.")
    files = [source]
    if source.is_dir():
        tables = (path for path in source.glob("**/*") if path.suffix.lower() in TABLES)
        files = shards_of(source) or sorted(path for path in tables if not is_hidden(path.name))
    if not files:
        raise DatasetNotFound(f"{source} holds no tar shards and no tables.")
    root = source if source.is_dir() else source.parent
    states = [file.stat() for file in files]
    return [
        Shard(file, str(file.relative_to(root)), (state.st_size, state.st_mtime_ns))
        for file, state in zip(files, states, strict=True)
    ]


def _check_scorer(engine: Engine) -> None:
    if engine.scorer.info.compares_pairs:
        raise SettingsError(
            f"'{engine.scorer.info.kind}' compares the pairs of a whole dataset, and shards are "
            "scored one by one.",
            terminal="Choose another --scorer.",
        )


def _identity(engine: Engine) -> dict[str, Any]:
    key = run_key(engine, 0)
    return {name: key[name] for name in ("scorer_kind", "model", "revision", "explorer",
                                         "parameters")} | {
        "detector": engine.settings.detector,
        "captioner": engine.settings.captioner_model,
    }  # fmt: skip


def _claim(out: Path, identity: dict[str, Any]) -> None:
    """Write what computes the results, or compare with what did."""
    file = out / _RUN
    if file.exists():
        before = json.loads(file.read_text("utf-8"))
        differences = sorted(key for key in identity if before.get(key) != identity[key])
        if differences:
            raise SettingsError(
                f"{out} holds the results of another run (other {', '.join(differences)}). Name "
                "another folder, or remove it."
            )
        return
    if any(out.iterdir()):
        raise SettingsError(f"{out} is not empty and holds no results. Name another folder.")
    with replacement(file) as part:
        part.write_text(json.dumps(identity, indent=1, sort_keys=True), "utf-8")


def _is_done(shard: Shard, out: Path) -> bool:
    file = shard.result(out)
    return file.exists() and tuple(_facts_of(file)["state"]) == shard.state


def _facts_of(file: Path) -> dict[str, Any]:
    facts = (pq.read_schema(file).metadata or {}).get(_FACTS)
    if facts is None:
        raise SettingsError(f"{file} is not a result of this program. Move it away.")
    return dict(json.loads(facts))


def _first_detector(
    engine: Engine,
    shards: Sequence[Shard],
    out: Path,
    progress: Progress,
    devices: Devices,
    anyway: bool,
    seed: int,
) -> _Detector:
    """The detector of the folder; trained first if it has none."""
    file = out / _DETECTOR
    if not file.exists():
        candidates = random.Random(seed).sample(list(shards), min(_DRAWN, len(shards)))
        shard = max(candidates, key=lambda shard: shard.state[0])
        progress(0, 0, f"Training the detector on {shard.name}")
        _score(engine, shard, out, None, devices, anyway)
    head, payload = file.read_bytes().split(b"\n", 1)
    return _Detector(**json.loads(head), payload=payload)


def _score(
    engine: Engine,
    shard: Shard,
    out: Path,
    detector: _Detector | None,
    devices: Devices,
    anyway: bool,
) -> None:
    """Score one shard and write its results; without a `detector`, train it and write it."""
    work = engine.settings.data_directory
    mark = work / "shard"
    if not mark.is_file() or mark.read_text("utf-8") != shard.name:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        mark.write_text(shard.name, "utf-8")
    store = open_database(f"sqlite:///{work / 'traced.db'}")
    try:
        source_rows = import_dataset(store, shard.path, "shard", data_directory=work / "none")
        if detector is not None:
            _adopt(store, engine, source_rows.dataset_id, detector)
        report = score_dataset(
            store, engine, source_rows.dataset_id, suggestions=False, cluster=devices, anyway=anyway
        )
        if detector is None:
            _save_detector(store, source_rows.dataset_id, shard, out / _DETECTOR)
        with store.reading() as session:
            problems = dataset_queries.list_problems(
                session, source_rows.dataset_id, limit=SHOWN_PROBLEMS
            )
        facts = {
            "state": shard.state, "pairs": report.pairs,
            "left_out": source_rows.problems + report.unreadable + report.unknown,
            "problems": [asdict(problem) for problem in problems],
        }  # fmt: skip
        rows = _rows(store, source_rows.dataset_id, engine.scorer.info.model)
        _write(rows, facts, shard.result(out))
    finally:
        store.close()
    shutil.rmtree(work)


def _adopt(store: Store, engine: Engine, dataset_id: int, detector: _Detector) -> None:
    """Make the detector the one in use, so that scoring trains none."""
    run = run_of(store, engine, dataset_id)
    with store.writing() as session:
        if classifier_queries.active(session, dataset_id) is None:
            row = classifier_queries.add_classifier(
                session, dataset_id, name="Cold start", kind=detector.kind, basis="injected",
                payload=detector.payload, report={**detector.report, "run": run.id},
            )  # fmt: skip
            classifier_queries.activate(session, row.id)


def _save_detector(store: Store, dataset_id: int, shard: Shard, file: Path) -> None:
    with store.reading() as session:
        active = classifier_queries.active(session, dataset_id)
        if active is None:
            raise TrainingError(
                f"{shard.name} has too few pairs to train a detector on. Join small shards first."
            )
        payload = classifier_queries.get_payload(session, active.id)
    head = {"kind": active.kind, "report": {**active.report, "shard": shard.name}}
    with replacement(file) as part:
        part.write_bytes(json.dumps(head).encode() + b"\n" + payload)


def _rows(store: Store, dataset_id: int, model: str) -> Iterator[dict[str, Any]]:
    """The scored pairs in order of import, as dictionaries of the columns."""
    for batch, trajectories in latest_batches(store, dataset_id):
        ids = [pair.id for pair in batch]
        with store.reading() as session:
            detections = detection_queries.detections_of(session, ids)
        for pair, values in zip(batch, feature_matrix(trajectories).tolist(), strict=True):
            yield feature_cells(values) | {
                "id": pair.external_id, "caption": pair.caption, "split": pair.split,
                "p_error": pair.p_error, "s_0": pair.s_0, "icc": pair.icc, "model": model,
                "suspects": suspect_cells(detections.get(pair.id)),
            }  # fmt: skip


def _write(rows: Iterator[dict[str, Any]], facts: dict[str, Any], file: Path) -> None:
    schema = _SCHEMA.with_metadata({_FACTS: json.dumps(facts, default=str)})
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacement(file) as part:
        write_parquet(rows, schema, part)
