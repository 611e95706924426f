"""`score SOURCE --out DESTINATION/ --detector FILE`: rank again what is scored, from stored signs.

No model is loaded and no picture is opened: each result has the features that a detector of first
steps reads. A result says which detector ranked it, so that a command that was killed continues.
Suspect words stay as the run wrote them.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.datasets.safe_files.locations import Location, StoredFile
from backend.datasets.safe_files.regular_files import replacement
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.features import NAMES, without_expectation
from backend.engine.detection.judged_captions import judge_captions
from backend.engine.detection.types import FIRST_STEP_DETECTORS
from backend.errors import SettingsError
from backend.features.shards.reports import ShardsReport
from backend.features.shards.results import scored_caption_in
from backend.features.shards.shard_scores import (
    DETECTOR,
    FACTS,
    PREVIOUS_DETECTOR,
    Detector,
    Facts,
    detector_in,
    facts_in,
    failures_in,
    report_of,
    run_in,
    write_manifest,
)
from backend.jobs.scoring.classifiers import stored_classifier
from backend.jobs.scoring.stored_claims import CLAIMS
from backend.learning_texts import learnt_in_words
from backend.progress import Progress, no_progress
from backend.store import Store
from db.queries import classifier_queries, run_queries, trajectory_queries


def check_saving(store: Store, dataset_id: int, detector: str) -> None:
    """Raise SettingsError if what training would save judges whole trajectories only. `detector`:
    the one of the settings."""
    with store.reading() as session:
        active = classifier_queries.active(session, dataset_id)
        run = run_queries.latest_run(session, dataset_id, "score")
        has_all_steps = run is None or not trajectory_queries.count_first_steps(session, run.id)
    if active is None or not has_all_steps or detector in FIRST_STEP_DETECTORS:
        return
    if detector != "best" or stored_classifier(store, active.id).needs_steps:
        raise _needs_steps(active.name)


def save_detector(store: Store, classifier_id: int, file: Path) -> None:
    """Write a dataset's classifier as a file for `rank_shards`. Raises SettingsError if it judges
    whole trajectories only."""
    row = store.read(classifier_queries.get_classifier, classifier_id)
    classifier = stored_classifier(store, classifier_id)
    if classifier.needs_steps:
        raise _needs_steps(row.name)
    with replacement(file) as part:
        part.write_bytes(Detector(row.kind, row.report, classifier.to_bytes()).to_bytes())


def _needs_steps(name: str) -> SettingsError:
    return SettingsError(
        f"'{name}' reads whole trajectories, and shards have only first steps. Train on a dataset "
        "that was scored by first steps.",
        terminal="score DATASET --trajectories first-step",
    )


def rank_shards(
    source: str | Path, out: str | Path, file: Path | None, progress: Progress = no_progress
) -> ShardsReport:
    """Give every result in `out` the probabilities of the detector in `file`, which also ranks the
    shards that remain; None: of the one that ranked them before. The present one is kept as the one
    before. Raises SettingsError for a file or a destination that does not fit."""
    results = Location(out)
    run = run_in(results)
    if run["source"] != str(Location(source)):
        raise SettingsError(f"{results} holds the results of {run['source']}.")
    present = detector_in(results)
    detector, classifier = _read(results, file)
    earlier = Classifier.from_bytes(present.payload)
    # A detector that was trained on few pairs knows no captioner; the results may hold its signs.
    captioners = {classifier.captioner, earlier.captioner} - {""}
    if classifier.needs_steps or len(captioners) > 1:
        raise SettingsError(
            f"'{file or PREVIOUS_DETECTOR}' reads whole trajectories, or another captioner's "
            f"signs than {results} holds."
        )
    if detector.payload != present.payload:
        # What is overwritten first exists elsewhere, so that a kill in between loses nothing.
        names = [(PREVIOUS_DETECTOR, present), (DETECTOR, detector)]
        for name, content in names if file is not None else reversed(names):
            results.write(name, content.to_bytes())
    facts = facts_in(results)
    files = {result.name: result for result in results.files()}
    remaining = [name for name, fact in facts.items() if fact.get("detector") != detector.digest]
    for number, name in enumerate(remaining, 1):
        result = files[f"{name}.parquet"]
        facts[name] = _rank(results, result, facts[name], classifier, detector.digest)
        progress(number, len(remaining), f"Ranked {name}")
    write_manifest(results, facts, failures_in(results))
    report = report_of(results, facts, len(facts), len(remaining))
    return replace(report, learnt=learnt_in_words(detector.report))


def _read(results: Location, file: Path | None) -> tuple[Detector, Classifier]:
    """The detector in a file, or the one that ranked these results before."""
    name = str(file) if file is not None else PREVIOUS_DETECTOR
    try:
        content = results.read(PREVIOUS_DETECTOR) if file is None else file.read_bytes()
        if content is None:
            raise SettingsError(f"No other detector has ranked {results} before.")
        detector = Detector.from_bytes(content)
        return detector, Classifier.from_bytes(detector.payload)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise SettingsError(
            f"'{name}' is no detector.", terminal="Write one: python app.py train NAME --save FILE"
        ) from problem


def _rank(
    out: Location, result: StoredFile, fact: Facts, classifier: Classifier, digest: str
) -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        table = pq.read_table(out.copy(result, Path(folder)), partitioning=None)
        features = np.column_stack([table[name].to_numpy() for name in NAMES]).astype(np.float64)
        captioner = pc.struct_field(table["trajectory"], "captioner").to_numpy()
        unread = captioner != classifier.captioner
        features[unread] = without_expectation(features[unread])
        p_error = classifier.predict(features)
        claims = table[CLAIMS].to_pylist()
        several = [row for row, cells in enumerate(claims) if cells]
        judgements = judge_captions(
            classifier,
            [
                scored_caption_in(row)
                for row in table.take(pa.array(several, pa.int64())).to_pylist()
            ],
        )
        p_error[several] = judgements.p_error
        for row, of_claims in zip(several, judgements.of_claims, strict=True):
            scored_cells = (cells for cells in claims[row] if cells["p_error"] is not None)
            for cells, p_claim in zip(scored_cells, of_claims.tolist(), strict=True):
                cells["p_error"] = p_claim
        for name, values in (("p_error", p_error), (CLAIMS, claims)):
            place, field = table.schema.get_field_index(name), table.schema.field(name)
            table = table.set_column(place, field, pa.array(values, field.type))
        fact = {**fact, "detector": digest}
        table = table.replace_schema_metadata({FACTS: json.dumps(fact)})
        file = Path(folder) / "ranked.parquet"
        pq.write_table(table, file)
        out.put_file(result.name, file)
    return fact
