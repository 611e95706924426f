"""`score SOURCE --out DESTINATION/ --detector FILE`: rank again what is scored, from stored signs.

No model is loaded and no picture is opened: each result has the features that a detector of first
steps reads. A result says which detector ranked it, so that a command that was killed continues.
Suspect words stay as the run wrote them.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from backend.datasets.locations import Location, StoredFile
from backend.datasets.regular_files import replacement
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.features import NAMES, without_expectation
from backend.errors import SettingsError
from backend.jobs.classifiers import stored_classifier
from backend.jobs.reports import ShardsReport
from backend.jobs.shard_scores import (
    DETECTOR,
    FACTS,
    Detector,
    Facts,
    detector_in,
    facts_in,
    failures_in,
    report_of,
    run_in,
    write_manifest,
)
from backend.progress import Progress, no_progress
from backend.store import Store


def save_detector(store: Store, classifier_id: int, file: Path) -> None:
    """Write a dataset's classifier as a file for `rank_shards`. Raises SettingsError if it judges
    whole trajectories only."""
    row, classifier = stored_classifier(store, classifier_id)
    if classifier.needs_steps:
        raise SettingsError(
            f"'{row.name}' reads whole trajectories, and shards have only first steps. Train on a "
            "dataset that was scored by first steps.",
            terminal="score DATASET --trajectories first-step",
        )
    with replacement(file) as part:
        part.write_bytes(Detector(row.kind, row.report, classifier.to_bytes()).to_bytes())


def rank_shards(
    source: str | Path, out: str | Path, file: Path, progress: Progress = no_progress
) -> ShardsReport:
    """Give every result in `out` the probabilities of the detector in `file`, which also ranks the
    shards that remain. Raises SettingsError for a file or a destination that does not fit."""
    results = Location(out)
    run = run_in(results)
    if run["source"] != str(Location(source)):
        raise SettingsError(f"{results} holds the results of {run['source']}.")
    try:
        detector = Detector.from_bytes(file.read_bytes())
        classifier = Classifier.from_bytes(detector.payload)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise SettingsError(
            f"'{file}' is no detector.", terminal="Write one: python app.py train NAME --save FILE"
        ) from problem
    earlier = Classifier.from_bytes(detector_in(results).payload)
    # A detector that was trained on few pairs knows no captioner; the results may hold its signs.
    captioners = {classifier.captioner, earlier.captioner} - {""}
    if classifier.needs_steps or len(captioners) > 1:
        raise SettingsError(
            f"'{file}' reads whole trajectories, or another captioner's signs than {results} holds."
        )
    results.write(DETECTOR, detector.to_bytes())
    facts = facts_in(results)
    files = {result.name: result for result in results.files()}
    remaining = [name for name, fact in facts.items() if fact.get("detector") != detector.digest]
    for number, name in enumerate(remaining, 1):
        result = files[f"{name}.parquet"]
        facts[name] = _rank(results, result, facts[name], classifier, detector.digest)
        progress(number, len(remaining), f"Ranked {name}")
    write_manifest(results, facts, failures_in(results))
    return report_of(results, list(facts.values()), len(facts), len(remaining))


def _rank(
    out: Location, result: StoredFile, fact: Facts, classifier: Classifier, digest: str
) -> Facts:
    with tempfile.TemporaryDirectory() as folder:
        table = pq.read_table(out.copy(result, Path(folder)), partitioning=None)
        features = np.column_stack([table[name].to_numpy() for name in NAMES]).astype(np.float64)
        captioner = pc.struct_field(table["trajectory"], "captioner").to_numpy()
        unread = captioner != classifier.captioner
        features[unread] = without_expectation(features[unread])
        place = table.schema.get_field_index("p_error")
        p_error = pa.array(classifier.predict(features), pa.float32())
        table = table.set_column(place, table.schema.field(place), p_error)
        fact = {**fact, "detector": digest}
        table = table.replace_schema_metadata({FACTS: json.dumps(fact)})
        file = Path(folder) / "ranked.parquet"
        pq.write_table(table, file)
        out.put(result.name, file)
    return fact
