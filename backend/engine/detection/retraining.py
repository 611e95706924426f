"""Train on verdicts together with injected noise, and compare the result with the current detector.

A verdict is a human label, an injected error a guess at what errors look like, an undecided caption
probably right: they are weighted WEIGHT_OF_A_VERDICT, 1 and WEIGHT_OF_UNDECIDED. With few verdicts
the injected noise dominates, with many the verdicts do.
"""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from backend.engine.detection.classifier import Calibration, Ticker, calibrate
from backend.engine.detection.cold_start import (
    ScoreCaptions,
    TrainedDetector,
    balanced,
    estimated_share,
    first_steps,
    fit_detector,
    make_copies,
    of_first_steps,
)
from backend.engine.detection.families import Weights
from backend.engine.detection.features import feature_matrix
from backend.engine.detection.opinion_signs import fitted_weight, with_opinions
from backend.engine.detection.types import detector_for
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import TrainingError

WEIGHT_OF_A_VERDICT = 10.0
WEIGHT_OF_UNDECIDED = 0.5
FEWEST_VERDICTS = 5
#: From this many verdicts of each class on, probabilities are calibrated on verdicts alone.
CALIBRATE_ON_VERDICTS = 40
#: From this many verdicts on, the data counts as labelled when a detector is chosen (`choose`).
MANY_VERDICTS = 200
TOP = 100


def retrain(
    captions: Sequence[str],
    trajectories: Sequence[Trajectory],
    labels: Sequence[int | None],
    score: ScoreCaptions,
    groups: Sequence[Hashable] | None = None,
    maximum_pairs: int = 2000,
    progress: Ticker | None = None,
    seed: int = 0,
    detector: str = "best",
    whole: bool = True,
) -> TrainedDetector:
    """Train a candidate. `labels`: 1 wrong, 0 right, None no verdict; `detector`: see `choose`;
    `whole`: as in `cold_start`.

    Raises TrainingError with fewer than FEWEST_VERDICTS verdicts, stating how many are missing.
    """
    decided = [i for i, label in enumerate(labels) if label is not None]
    if len(decided) < FEWEST_VERDICTS:
        raise TrainingError(
            f"{len(decided)} verdicts are right or wrong; training needs {FEWEST_VERDICTS}. Decide "
            f"{FEWEST_VERDICTS - len(decided)} more pairs."
        )
    detector = detector_for(detector, whole)
    if not whole:
        trajectories, score = first_steps(trajectories), of_first_steps(score)
    originals = feature_matrix(trajectories)
    groups = list(range(len(captions))) if groups is None else list(groups)
    copies = make_copies(captions, score, groups, maximum_pairs, seed)
    undecided = [i for i in sorted(set(copies.owners)) if labels[i] is None]
    target = np.array(
        [*(int(labels[i] or 0) for i in decided), *[0] * len(undecided), *[1] * len(copies.owners)]
    )
    trust = np.r_[
        np.full(len(decided), WEIGHT_OF_A_VERDICT),
        np.full(len(undecided), WEIGHT_OF_UNDECIDED),
        np.ones(len(copies.owners)),
    ]
    weights = balanced(target) * trust
    weights *= len(weights) / weights.sum()
    wrong = int(target[: len(decided)].sum())

    def calibration_of(out_of_fold: Weights) -> Calibration:
        if min(wrong, len(decided) - wrong) >= CALIBRATE_ON_VERDICTS:
            on_verdicts = slice(len(decided))
            return calibrate(out_of_fold[on_verdicts], target[on_verdicts], np.ones(len(decided)))
        plain = calibrate(out_of_fold, target, weights)
        others = out_of_fold[len(decided) : len(decided) + len(undecided)]
        share = estimated_share(plain(others)) if len(others) else None
        return Calibration(plain.slope, plain.offset, share)

    classifier, p_error, report = fit_detector(
        originals, groups, [*decided, *undecided], copies, target, weights, calibration_of,
        detector, whole, seed, labelled=len(decided) >= MANY_VERDICTS, progress=progress,
    )  # fmt: skip
    signs = np.array([trajectory.second_opinion for trajectory in trajectories])
    weight = fitted_weight(p_error[decided], signs[decided], target[: len(decided)])
    report |= {"verdicts_wrong": wrong, "verdicts_right": len(decided) - wrong}
    if signs.any():
        report["opinion_weight"] = weight
    classifier = replace(classifier, opinion_weight=weight)
    return TrainedDetector(with_opinions(p_error, signs, weight), classifier, report)


def compare(
    before: np.ndarray | None, after: np.ndarray, verdicts: Sequence[tuple[int, int]]
) -> dict[str, Any]:
    """A candidate's changes: AUC on the verdicts, and changes in the ranking.

    `before`, `after`: probability of error of all pairs, by the classifier in use (None if there is
    none) and by the candidate, cross-fitted for training pairs; `verdicts`: (row, 1 wrong or 0
    right).
    """
    from scipy.stats import spearmanr
    from sklearn.metrics import roc_auc_score

    report: dict[str, Any] = {}
    decided, labels = [row for row, _ in verdicts], [label for _, label in verdicts]
    both_kinds = 0 < sum(labels) < len(labels)
    if both_kinds:
        report["verdict_auc_after"] = round(float(roc_auc_score(labels, after[decided])), 4)
    if before is None:
        return report
    if both_kinds:
        report["verdict_auc_before"] = round(float(roc_auc_score(labels, before[decided])), 4)
    first = min(TOP, len(before))
    old, new = (set(np.argsort(-p, kind="stable")[:first].tolist()) for p in (before, after))
    report["first_places"] = first
    report["new_in_first_places"] = len(new - old)
    if len(before) > 2 and np.ptp(before) > 0 and np.ptp(after) > 0:
        report["rank_correlation"] = round(float(spearmanr(before, after).statistic), 4)
    return report
