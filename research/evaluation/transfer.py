"""Errors of another generator: a detector trained on one generator's errors judges another's.

If a detector only knew how its generator writes errors, it would lose its lead over s_0 here. The
same pairs are corrupted by both generators; the training half comes from one and the test half from
the other, so that no image is on both sides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from backend.engine.detection.features import feature_matrix
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation import metrics
from research.evaluation.labelled import LabelledPairs
from research.evaluation.result_figures import judge, test_half


@dataclass(frozen=True)
class Transfer:
    """Results on the test half with errors by `noise`, of a detector trained on errors by
    `trained_on`. `auc_text_only`: a classifier that reads only the words, the control."""

    scorer: str
    explorer: str
    trained_on: str
    noise: str
    seed: int
    auc: float
    auc_single_score: float
    auc_text_only: float
    calibration_error: float
    improvement_percent: float


def transfer(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    others: LabelledPairs,
    trajectories_of_others: Sequence[Trajectory],
    scorer: str,
    explorer: str,
    trained_on: str,
    noise: str,
    seed: int,
    detector: str = "best",
) -> Transfer:
    """Train on `others` outside the test half, judge `pairs` inside it.

    Raises ValueError if `others` are not the same pairs with other errors.
    """
    if others.originals != pairs.originals or others.groups != pairs.groups:
        raise ValueError("The two generators must corrupt the same pairs.")
    test = test_half(pairs, seed)
    mixed = replace(
        pairs,
        captions=[(pairs if is_test else others).captions[row] for row, is_test in enumerate(test)],
        wrong=np.where(test, pairs.wrong, others.wrong),
    )
    features = np.where(
        test[:, None], feature_matrix(trajectories), feature_matrix(trajectories_of_others)
    )
    judged = judge(features, mixed.captions, mixed.wrong, mixed.groups, test, seed, detector)
    wrong = mixed.wrong[test]
    auc, single = metrics.auc(wrong, judged.log_odds), metrics.auc(wrong, judged.s_0)
    return Transfer(
        scorer,
        explorer,
        trained_on,
        noise,
        seed,
        auc,
        single,
        metrics.auc(wrong, judged.text_only),
        metrics.expected_calibration_error(wrong, judged.p_error),
        100 * (auc / single - 1),
    )
