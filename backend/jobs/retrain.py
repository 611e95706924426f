"""Retrain the detector on verdicts, compare, and let the curator decide.

A newly trained classifier is a *candidate*: stored, with its metrics next to those of the one in
use, and not used until a curator adopts it. Earlier ones are kept and can be adopted again.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from backend.engine.detection.cold_start import TrainedDetector, captioner_of
from backend.engine.detection.retraining import compare, retrain
from backend.engine.detection.types import reads_later_steps
from backend.engine.trajectories.depth import ALL, parse_depth
from backend.engine.trajectories.trajectory import Trajectory
from backend.engine.trajectories.word_expectations import with_expectations_of
from backend.errors import TrainingError
from backend.jobs.captioner_stages import Expectations
from backend.jobs.classifiers import classifier_in_use, stored_classifier
from backend.jobs.dataset_models import scored_by_this_model
from backend.jobs.detect import COLD_START_PAIRS, judge_rest, renew_suspects
from backend.jobs.known_pictures import prepare_scorer
from backend.jobs.noisy_copies import TrajectoryCache
from backend.jobs.replace_ranking import ranked, use_ranking
from backend.jobs.reports import TrainReport
from backend.jobs.stage import Scoring
from backend.jobs.stored_rows import exploring_of, scored_pairs
from backend.jobs.workers import Workers
from backend.loaded_models import Engine
from backend.progress import Progress, no_progress
from backend.store import Store
from backend.verdict_texts import RIGHT_OR_WRONG, is_wrong
from db.authors import is_rule
from db.queries import classifier_queries, dataset_queries
from db.queries import pairs as pair_queries
from db.queries import runs as run_queries
from db.queries import trajectories as trajectory_queries
from db.queries.pairs import PairRow
from db.queries.runs import RunRow
from db.queries.statements import lock_dataset

#: Labels from verdicts: 1 wrong, 0 right. *Abstract* captions describe no image, so they are
#: neither; *unsure* gives no label.
LABELS: dict[str, int] = {decision: int(is_wrong(decision)) for decision in RIGHT_OR_WRONG}

#: Status of the suspect words in the report of an adopted classifier.
RENEWING, RENEWED = "being renewed", "renewed"


def train_candidate(
    store: Store,
    engine: Engine,
    dataset_id: int,
    progress: Progress = no_progress,
    seed: int = 0,
) -> TrainReport:
    """Train on all verdicts that say right or wrong, and on injected noise.

    `seed`: of the injected errors and of the folds; the same pairs, verdicts and seed give the same
    classifier.
    Raises NotScored if the dataset is not scored with this session's model, and TrainingError if
    there are too few verdicts; the message says what is missing.
    """
    run = scored_by_this_model(store, engine, dataset_id)
    prepare_scorer(store, engine, dataset_id, progress)
    with store.reading() as session:
        root = Path(dataset_queries.get_dataset(session, dataset_id).root)
        drawn = trajectory_queries.draw_scored(session, run.id, dataset_id, COLD_START_PAIRS)
        decided = pair_queries.decided_pairs(session, dataset_id, list(LABELS))
        lacks_steps = trajectory_queries.count_first_steps(session, run.id) > 0
    whole = reads_later_steps(engine.settings.detector) and not lacks_steps
    workers = Workers(engine, root)
    # Scored without a captioner or with another one: compute the missing evidence for training.
    depth = parse_depth(ALL)
    Expectations(Scoring(store, engine, dataset_id, root, len(drawn), depth, run, workers)).run(
        progress
    )
    pairs, trajectories = _decided_by_people(*scored_pairs(store, run, sorted({*drawn, *decided})))
    trajectories = with_expectations_of(trajectories, captioner_of(trajectories))
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
            workers,
            [(p.id, p.image_path) for p in pairs],
            replace(exploring_of(run), whole=whole),
            progress,
        ).score,
        groups=[pair.image_path for pair in pairs],
        maximum_pairs=COLD_START_PAIRS,
        progress=progress,
        seed=seed,
        detector=engine.settings.detector,
        whole=whole,
    )
    moved = _compared(store, run, result, [pair.id for pair in pairs], labels)
    report = {**result.report, **moved, "run": run.id, "verdicts": verdicts, "seed": seed}
    with store.writing() as session:
        lock_dataset(session, dataset_id)  # so that no two get the same number
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

    The probabilities are written next to those in use and come into use with the classifier's name
    (`jobs/replace_ranking.py`): no page ever shows the name of one with the numbers of another, and
    no verdict waits. Pairs scored in the meantime follow. If another classifier is adopted before
    this one is in use, that one is used, as if it had been adopted afterwards. Raises
    TrainingError for a classifier that needs whole trajectories if only the first step of some is
    known.
    """
    row, classifier = stored_classifier(store, classifier_id)
    if row.active:
        # Its probabilities exist already; for its training pairs they come from cross-fitting, and
        # recomputing them would use a classifier that has seen these pairs.
        if row.report.get("suspects") == RENEWING:  # a kill left stale ones
            run = store.read(run_queries.get_run, int(row.report["run"]))
            _follow(store, run, classifier_id)
        return 0
    run = store.read(run_queries.get_run, int(row.report["run"]))
    with store.reading() as session:
        if classifier.needs_steps and trajectory_queries.count_first_steps(session, run.id):
            raise TrainingError(
                f"'{row.name}' needs whole trajectories, and only the first step of some is known. "
                "Compute the whole trajectories of all pairs first, or train a new classifier."
            )
    result = ranked(store, run, classifier)

    def activate(session: Session) -> None:
        classifier_queries.activate(session, classifier_id)
        classifier_queries.amend_report(session, classifier_id, suspects=RENEWING)

    if use_ranking(store, row.dataset_id, result.ids, result.after, activate, progress):
        _follow(store, run, classifier_id)
    progress(len(result.ids), len(result.ids), "Ranked")
    return len(result.ids)


def _follow(store: Store, run: RunRow, classifier_id: int) -> None:
    """Update what depends on the classifier in use: suspect words, and the pairs that were scored
    while it was adopted."""
    renew_suspects(store, run, classifier_id)
    newest = store.read(run_queries.latest_run, run.dataset_id or 0, "score")
    if newest is None or newest.id == run.id:
        judge_rest(store, run)
    store.write(classifier_queries.amend_report, classifier_id, suspects=RENEWED)


def _decided_by_people(
    pairs: list[PairRow], trajectories: list[Trajectory]
) -> tuple[list[PairRow], list[Trajectory]]:
    """Exclude pairs decided by a rule: a detector must not learn from decisions based on its own
    output, and these pairs are not undecided either."""
    decided_rows = [
        (pair, trajectory)
        for pair, trajectory in zip(pairs, trajectories, strict=True)
        if not is_rule(pair.decided_by)
    ]
    return [pair for pair, _ in decided_rows], [trajectory for _, trajectory in decided_rows]


def _compared(
    store: Store,
    run: RunRow,
    result: TrainedDetector,
    trained_on: list[int],
    labels: list[int | None],
) -> dict[str, Any]:
    """The candidate's changes over all pairs; see `detection.retraining.compare`."""
    judged = ranked(store, run, result.classifier)
    ids, after, before = judged.ids, judged.after, judged.before
    rows = np.searchsorted(ids, trained_on)
    after[rows] = result.p_error  # cross-fitted
    if np.isnan(before).any():
        current = classifier_in_use(store, run.dataset_id or 0)
        before = ranked(store, run, current).after if current is not None else before
    verdicts = [
        (int(row), label) for row, label in zip(rows, labels, strict=True) if label is not None
    ]
    return compare(None if np.isnan(before).any() else before, after, verdicts)
