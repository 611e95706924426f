"""Detector quality without labels by the size of the dataset: a cold start on 120 to 3,000 pairs.

The pairs are a random part of the evaluation's, and the labels are only used to judge the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from backend.engine.detection.cold_start import ScoreCaptions, cold_start, drawn_by_image
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation import metrics
from research.evaluation.labelled import LabelledPairs

SIZES = (120, 600, 3000)


@dataclass(frozen=True)
class Unlabelled:
    """Results on all `pairs` of a dataset that was ranked by a cold start.

    `detector`: the family that it chose; `noisy_copies`: how many it was trained on;
    `share_wrong`, `estimated_share_wrong`: of the captions, and by its own estimate (None if the
    dataset was too small to train on).
    """

    scorer: str
    explorer: str
    noise: str
    seed: int
    pairs: int
    detector: str
    noisy_copies: int
    auc: float
    auc_single_score: float
    calibration_error: float
    share_wrong: float
    estimated_share_wrong: float | None


def without_labels(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    score: ScoreCaptions,
    scorer: str,
    explorer: str,
    noise: str,
    seed: int,
    detector: str = "best",
    sizes: Sequence[int] = SIZES,
) -> list[Unlabelled]:
    """One entry for each size for which there are enough pairs.

    `score`: the trajectories of other captions on the images of `pairs`, by row.
    """
    results = []
    for size in sizes:
        if size > len(pairs):
            continue
        rows = drawn_by_image(pairs.groups, size, seed)

        def score_drawn(
            requests: Sequence[tuple[int, str]], rows: Sequence[int] = rows
        ) -> list[Trajectory]:
            return score([(rows[place], text) for place, text in requests])

        started = cold_start(
            [pairs.captions[row] for row in rows],
            [trajectories[row] for row in rows],
            score_drawn,
            [pairs.groups[row] for row in rows],
            seed=seed,
            detector=detector,
        )
        wrong = pairs.wrong[rows]
        s_0 = np.array([trajectories[row].scores[0] for row in rows])
        results.append(
            Unlabelled(
                scorer, explorer, noise, seed, len(rows),
                started.report["detector"], started.report.get("noisy_copies", 0),
                metrics.auc(wrong, started.p_error), metrics.auc(wrong, -s_0),
                metrics.expected_calibration_error(wrong, started.p_error),
                float(wrong.mean()), started.report.get("estimated_share_wrong"),
            )
        )  # fmt: skip
    return results
