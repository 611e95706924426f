"""Retrain the detector on verdicts, compare, and let the curator decide.

A newly trained classifier is a *candidate*: stored, with its metrics next to those of the one in
use, and not used until a curator adopts it. Earlier ones are kept and can be adopted again.
"""

import math
from array import array
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.classifier import Classifier
from backend.engine.detection.cold_start import captioner_of
from backend.engine.detection.retraining import Retrained, compare, retrain
from backend.engine.expectation import listening
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import TrainingError
from backend.jobs.classifiers import classifier_in_use, probabilities, stored_classifier
from backend.jobs.dataset_pairs import prepare_scorer
from backend.jobs.detect import judge_rest, renew_suspects
from backend.jobs.expectations import remember_expectations
from backend.jobs.noisy_copies import TrajectoryCache
from backend.jobs.reports import TrainReport
from backend.jobs.scoring_stages import COLD_START_PAIRS
from backend.jobs.session_run import scored_by_this_model
from backend.jobs.stored_trajectories import AT_ONCE, exploring_of, scored_batches, scored_pairs
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.verdicts import RIGHT_OR_WRONG, is_wrong
from db.authors import is_rule
from db.queries import classifiers as classifier_queries
from db.queries import datasets as dataset_queries
from db.queries import detections as detection_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import trajectories as trajectory_queries
from db.queries.classifiers import ClassifierRow
from db.queries.pairs import PairRow
from db.queries.runs import RunRow

#: Labels from verdicts: 1 wrong, 0 right. *Abstract* captions describe no image, so they are
#: neither; *unsure* gives no label.
LABELS: dict[str, int] = {decision: int(is_wrong(decision)) for decision in RIGHT_OR_WRONG}

#: Status of the suspect words in the report of an adopted classifier.
RENEWING, RENEWED = "being renewed", "renewed"


def train_candidate(
    store: Store, engine: Engine, dataset_id: int, progress: Progress = no_progress
) -> TrainReport:
    """Train on all verdicts that say right or wrong, and on injected noise.

    Raises TrainingError if the dataset is not scored with this session's model, or if there are
    too few verdicts; the message says what is missing.
    """
    run = scored_by_this_model(store, engine, dataset_id)
    prepare_scorer(store, engine, dataset_id, progress)
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        drawn = trajectory_queries.draw_scored(session, run.id, dataset_id, COLD_START_PAIRS)
        decided = pair_queries.decided_pairs(session, dataset_id, list(LABELS))
        whole = not trajectory_queries.has_first_steps(session, run.id)
    # Scored without a captioner or with another one: compute the missing evidence for training.
    remember_expectations(store, engine, run, root, len(drawn), progress)
    pairs, trajectories = _decided_by_people(*scored_pairs(store, run, sorted({*drawn, *decided})))
    trajectories = listening(trajectories, captioner_of(trajectories))
    labels = [LABELS.get(pair.judgement or "") for pair in pairs]
    verdicts = sum(label is not None for label in labels)
    progress(0, 0, "Training on verdicts and injected noise")
    result = retrain(
        [pair.caption for pair in pairs],
        trajectories,
        labels,
        TrajectoryCache(
            store,
            run.id,
            engine,
            root,
            [(p.id, p.image_path) for p in pairs],
            replace(exploring_of(run), whole=whole),
        ).score,
        groups=[pair.image_path for pair in pairs],
        maximum_pairs=COLD_START_PAIRS,
        progress=progress,
        detector=engine.settings.detector,
        whole=whole,
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
    """Use this classifier from now on, and recompute the probabilities of all scored pairs, then
    their suspect words.

    The probabilities are computed first and written with the switch, so that no page ever shows
    one classifier's name with another's numbers; pairs scored in the meantime follow. Raises
    TrainingError for a classifier that needs whole trajectories if only the first step of some is
    known.
    """
    row, classifier = stored_classifier(store, classifier_id)
    if row.active:
        # Its probabilities exist already; for its training pairs they come from cross-fitting, and
        # recomputing them would use a classifier that has seen these pairs.
        if row.report.get("suspects") == RENEWING:  # a kill left stale ones
            _renew(store, _run_of(store, row), classifier_id)
        return 0
    run = _run_of(store, row)
    with store.reading() as session:
        newest = run_queries.latest_run(session, row.dataset_id, "score")
        if classifier.needs_steps and trajectory_queries.has_first_steps(session, run.id):
            raise TrainingError(
                f"'{row.name}' needs whole trajectories, and only the first step of some is known. "
                "Compute the whole trajectories of all pairs first, or train a new classifier."
            )
    ids, p_errors, _ = _ranked(store, run, classifier)
    with store.writing(large=True) as session:
        classifier_queries.activate(session, classifier_id)
        classifier_queries.amend_report(session, classifier_id, suspects=RENEWING)
        for first in range(0, len(ids), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            detection_queries.save_probabilities(
                session,
                classifier_id,
                dict(zip(ids[part].tolist(), p_errors[part].tolist(), strict=True)),
            )
    if newest is None or newest.id == run.id:
        judge_rest(store, run)
    _renew(store, run, classifier_id)
    progress(len(ids), len(ids), "Ranked")
    return len(ids)


def _renew(store: Store, run: RunRow, classifier_id: int) -> None:
    renew_suspects(store, run, classifier_id)
    with store.writing() as session:
        classifier_queries.amend_report(session, classifier_id, suspects=RENEWED)


def _run_of(store: Store, row: ClassifierRow) -> RunRow:
    with store.reading() as session:
        return run_queries.get_run(session, int(row.report["run"]))


def _ranked(
    store: Store, run: RunRow, classifier: Classifier
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """All scored pairs with their probability by this classifier (NaN: it needs more steps than
    are known), and as shown so far (NaN: none).

    Three numbers per pair: even for many millions, all fit into memory.
    """
    ids, after, before = array("q"), array("d"), array("d")
    for pairs, trajectories in scored_batches(store, run):
        ids.extend(pair.id for pair in pairs)
        after.extend(
            math.nan if classifier.needs_steps and not trajectory.whole else p_error
            for p_error, trajectory in zip(
                probabilities(classifier, trajectories), trajectories, strict=True
            )
        )
        before.extend(math.nan if pair.p_error is None else pair.p_error for pair in pairs)
    return np.array(ids, np.int64), np.array(after), np.array(before)


def _decided_by_people(
    pairs: list[PairRow], trajectories: list[Trajectory]
) -> tuple[list[PairRow], list[Trajectory]]:
    """Exclude pairs decided by a rule: a detector must not learn from decisions based on its own
    output, and these pairs are not undecided either."""
    kept = [
        (pair, trajectory)
        for pair, trajectory in zip(pairs, trajectories, strict=True)
        if not is_rule(pair.decided_by)
    ]
    return [pair for pair, _ in kept], [trajectory for _, trajectory in kept]


def _compared(
    store: Store, run: RunRow, result: Retrained, trained_on: list[int], labels: list[int | None]
) -> dict[str, Any]:
    """What the candidate changes, over all pairs; see `detection.retraining.compare`."""
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
