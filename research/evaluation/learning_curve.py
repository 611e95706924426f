"""Detector quality by number of labelled pairs: curators reach fifty long before a thousand.

For each number, training pairs are sampled at random twenty times; all others are the test set.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.engine.detection.features import feature_matrix
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import TrainingError
from research.evaluation import metrics
from research.evaluation.labelled import LabelledPairs

SIZES = (50, 100, 200, 500, 1000, 3000)
SPLITS = 20
#: Minimum number of test pairs.
_LEFT = 100


@dataclass(frozen=True)
class Learnt:
    """Means over `splits` random samples of `labelled` pairs. `worst_difference`: the minimum over
    the samples of AUC minus that of s_0 alone; `detector`: the name requested."""

    scorer: str
    explorer: str
    noise: str
    seed: int
    labelled: int
    detector: str
    auc: float
    auc_single_score: float
    worst_difference: float
    calibration_error: float
    splits: int


def learning_curve(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    scorer: str,
    explorer: str,
    noise: str,
    seed: int,
    detector: str = "best",
    sizes: Sequence[int] = SIZES,
    splits: int = SPLITS,
) -> list[Learnt]:
    """One entry for each size for which there are enough pairs."""
    from research.evaluation.result_figures import trained, training_half

    features, groups = feature_matrix(trajectories), np.array(pairs.groups)
    points = []
    for size in sizes:
        if size + _LEFT > len(pairs):
            continue
        rows = []
        for split in range(splits):
            rng = np.random.default_rng((17, seed, size, split))
            drawn = np.isin(groups, _groups_of(groups, size, rng))
            half = training_half(features, pairs.wrong, pairs.groups, ~drawn, split)
            try:
                classifier = trained(half, detector)
            except TrainingError:
                continue  # a fold contains only one class
            p_error = classifier.predict(features[~drawn])
            wrong = pairs.wrong[~drawn]
            rows.append(
                (
                    metrics.auc(wrong, classifier.model.log_odds(features[~drawn])),
                    metrics.auc(wrong, -features[~drawn, 0]),
                    metrics.expected_calibration_error(wrong, p_error),
                )
            )
        if rows:
            figures = np.array(rows)
            points.append(
                Learnt(
                    scorer, explorer, noise, seed, size, detector,
                    float(figures[:, 0].mean()), float(figures[:, 1].mean()),
                    float((figures[:, 0] - figures[:, 1]).min()),
                    float(figures[:, 2].mean()), len(rows),
                )
            )  # fmt: skip
    return points


def _groups_of(groups: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Random images with `size` pairs in total, or a few more if the last image has several."""
    distinct, counts = np.unique(groups, return_counts=True)
    order = rng.permutation(len(distinct))
    taken = int(np.searchsorted(np.cumsum(counts[order]), size)) + 1
    return distinct[order[:taken]]
