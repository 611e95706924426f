"""Retrain the detector on verdicts, compare, and let the curator decide.

A newly trained classifier is a *candidate*: stored, with its figures beside those of the one in
use, and not used until somebody adopts it. Earlier ones stay and can be adopted again.
"""

import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.detection.classifier import Classifier
from backend.detection.retrain import Retrained, compare, retrain
from backend.engine import Engine
from backend.errors import TrainingError
from backend.pipeline import Progress, no_progress
from backend.pipeline.classifiers import classifier_in_use, probabilities, stored_classifier
from backend.pipeline.neighbours import prepare_neighbours
from backend.pipeline.noisy_copies import TrajectoryCache
from backend.pipeline.scoring import (
    AT_ONCE,
    COLD_START_PAIRS,
    exploring_of,
    judge_rest,
    scored_batches,
    scored_pairs,
)
from backend.store import Store
from backend.trajectories.trajectory import Trajectory
from backend.views import TrainReport
from db.authors import is_rule
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import detections as detection_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import trajectories as trajectory_queries
from db.queries.pairs import PairRow
from db.queries.runs import RunRow

#: What a verdict says about the caption: 1 wrong, 0 right. *Abstract* captions describe no image,
#: so they are neither; *unsure* says nothing.
LABELS = {"correct": 0, "correction": 1, "drop": 1}


def train_candidate(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> TrainReport:
    """Train on all verdicts that say right or wrong, and on injected noise.

    Raises TrainingError if the dataset is not scored with this session's model, or if there are
    too few verdicts; the message says what is missing.
    """
    run = scored_by_this_model(store, engine, dataset_id)
    prepare_neighbours(store, engine, dataset_id, progress)
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        drawn = trajectory_queries.draw_scored(session, run.id, dataset_id, COLD_START_PAIRS)
        decided = pair_queries.decided_pairs(session, dataset_id, list(LABELS))
    pairs, trajectories = _decided_by_people(*scored_pairs(store, run, sorted({*drawn, *decided})))
    labels = [LABELS.get(pair.decision or "") for pair in pairs]
    verdicts = sum(label is not None for label in labels)
    progress(0, 0, "Training on verdicts and injected noise")
    result = retrain(
        [pair.caption for pair in pairs],
        trajectories,
        labels,
        TrajectoryCache(
            engine, root, [(p.id, p.image_path) for p in pairs], exploring_of(run)
        ).score,
        groups=[pair.image_path for pair in pairs],
        maximum_pairs=COLD_START_PAIRS,
        progress=progress,
        detector=engine.settings.detector,
    )
    moved = _compared(store, run, result, [pair.id for pair in pairs], labels)
    report = {**result.report, **moved, "run": run.id, "verdicts": verdicts}
    with store.writing() as session:
        dataset_queries.lock(session, dataset_id)  # so that no two get the same number
        number = len(classifier_queries.list_classifiers(session, dataset_id))
        row = classifier_queries.add_classifier(
            session,
            dataset_id,
            name=f"Retrained {number}",
            kind=result.classifier.kind,
            basis="verdicts",
            payload=result.classifier.to_bytes(),
            report=report,
        )
    return TrainReport(dataset_id, row.id, row.name, verdicts, report)


def adopt(store: Store, classifier_id: int, progress: Progress = no_progress) -> int:
    """Use this classifier from now on, and give all scored pairs their probability by it.

    The probabilities are computed first and written with the switch, so that no page ever shows
    one classifier's name beside another's numbers; pairs that were scored meanwhile follow.
    """
    row, classifier = stored_classifier(store, classifier_id)
    with store.reading() as session:
        run = run_queries.get_run(session, int(row.report["run"]))
        newest = run_queries.latest_run(session, row.dataset_id, "score")
    ids, p_errors, _ = _ranked(store, run, classifier)
    with store.writing(large=True) as session:
        classifier_queries.activate(session, classifier_id)
        for first in range(0, len(ids), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            detection_queries.save_probabilities(
                session,
                classifier_id,
                dict(zip(ids[part].tolist(), p_errors[part].tolist(), strict=True)),
            )
    if newest is None or newest.id == run.id:
        judge_rest(store, run)
    progress(len(ids), len(ids), "Ranked")
    return len(ids)


def _ranked(
    store: Store, run: RunRow, classifier: Classifier
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """All scored pairs with their probability by this classifier, and as shown so far (NaN: none).

    Three numbers a pair: even of many millions all fit into memory.
    """
    ids, after, before = array("q"), array("d"), array("d")
    for pairs, trajectories in scored_batches(store, run):
        ids.extend(pair.id for pair in pairs)
        after.extend(probabilities(classifier, trajectories))
        before.extend(math.nan if pair.p_error is None else pair.p_error for pair in pairs)
    return np.array(ids, np.int64), np.array(after), np.array(before)


def _decided_by_people(
    pairs: list[PairRow], trajectories: list[Trajectory]
) -> tuple[list[PairRow], list[Trajectory]]:
    """Without the pairs that a rule has decided: a detector learns nothing from what a detector's
    own numbers have led to, and they are not undecided either."""
    kept = [
        (pair, trajectory)
        for pair, trajectory in zip(pairs, trajectories, strict=True)
        if not is_rule(pair.decided_by)
    ]
    return [pair for pair, _ in kept], [trajectory for _, trajectory in kept]


def _compared(
    store: Store, run: RunRow, result: Retrained, trained_on: list[int], labels: list[int | None]
) -> dict[str, Any]:
    """What the candidate changes, over all pairs; see `detection.retrain.compare`."""
    ids, after, before = _ranked(store, run, result.classifier)
    rows = np.searchsorted(ids, trained_on)
    after[rows] = result.p_error  # by classifiers that had not seen them
    if np.isnan(before).any():
        current = classifier_in_use(store, run.dataset_id or 0)
        before = _ranked(store, run, current)[1] if current is not None else before
    verdicts = [
        (int(row), label) for row, label in zip(rows, labels, strict=True) if label is not None
    ]
    return compare(None if np.isnan(before).any() else before, after, verdicts)


def scored_by_this_model(store: Store, engine: Engine, dataset_id: int) -> RunRow:
    """The dataset's newest scoring run; TrainingError if there is none, or by another model."""
    with store.reading() as session:
        run = run_queries.latest_run(session, dataset_id, "score")
        dataset = dataset_queries.get_dataset(session, dataset_id)
    if run is None:
        raise TrainingError(f"'{dataset.name}' is not scored yet. Score it first.")
    info = engine.scorer.info
    if (run.scorer_kind, run.revision) != (info.kind, info.revision):
        raise TrainingError(
            f"'{dataset.name}' was scored with {run.scorer_kind} {run.model}, this session uses "
            f"{info.kind} {info.model}. Start with --model {run.model}, or score it again."
        )
    return run
