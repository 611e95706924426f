"""Detector quality by number of labelled pairs, without labels by the size of the dataset, and on
the errors of another generator.

For each number of labels, training pairs are sampled at random twenty times; all others are the
test set. Transfer: the same pairs are corrupted by two generators; the training half comes from one
and the test half from the other, so that no image is on both sides. A detector that only knew how
its generator writes errors would lose its lead over s_0 there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from backend.engine.detection.cold_start import ScoreCaptions, cold_start, drawn_by_image
from backend.engine.detection.features import feature_matrix
from backend.engine.trajectories.trajectory import Trajectory
from backend.errors import TrainingError
from research.evaluation import metrics
from research.evaluation.labelled import LabelledPairs
from research.evaluation.result_figures import Run, judge, test_half, train, training_half

PAIR_COUNTS = (120, 600, 3000)


@dataclass(frozen=True)
class UnlabelledResult(Run):
    """Results on all `pairs` of a dataset that was ranked by a cold start.

    `detector`: the family that it chose; `noisy_copies`: how many it was trained on;
    `share_wrong`, `estimated_share_wrong`: of the captions, and by its own estimate (None if the
    dataset was too small to train on).
    """

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
    run: Run,
    detector: str = "best",
    sizes: Sequence[int] = PAIR_COUNTS,
) -> list[UnlabelledResult]:
    """One entry for each size for which there are enough pairs.

    `score`: the trajectories of other captions on the images of `pairs`, by row.
    """
    results = []
    for size in sizes:
        if size > len(pairs):
            continue
        rows = drawn_by_image(pairs.groups, size, run.seed)

        def score_drawn(
            requests: Sequence[tuple[int, str]], rows: Sequence[int] = rows
        ) -> list[Trajectory]:
            return score([(rows[place], text) for place, text in requests])

        trained_detector = cold_start(
            [pairs.captions[row] for row in rows],
            [trajectories[row] for row in rows],
            score_drawn,
            [pairs.groups[row] for row in rows],
            seed=run.seed,
            detector=detector,
        )
        wrong = pairs.wrong[rows]
        s_0 = np.array([trajectories[row].scores[0] for row in rows])
        results.append(
            UnlabelledResult(
                run.scorer, run.explorer, run.noise, run.seed, len(rows),
                trained_detector.report["detector"], trained_detector.report.get("noisy_copies", 0),
                metrics.auc(wrong, trained_detector.p_error), metrics.auc(wrong, -s_0),
                metrics.expected_calibration_error(wrong, trained_detector.p_error),
                float(wrong.mean()), trained_detector.report.get("estimated_share_wrong"),
            )
        )  # fmt: skip
    return results


@dataclass(frozen=True)
class Transfer(Run):
    """Results on the test half with errors by `noise`, of a detector trained on errors by
    `trained_on`. `auc_text_only`: a classifier that reads only the words, the control."""

    trained_on: str
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
    run: Run,
    trained_on: str,
    detector: str = "best",
) -> Transfer:
    """Train on `others` outside the test half, judge `pairs` inside it.

    Raises ValueError if `others` are not the same pairs with other errors.
    """
    if others.originals != pairs.originals or others.groups != pairs.groups:
        raise ValueError("The two generators must corrupt the same pairs.")
    test = test_half(pairs, run.seed)
    mixture = replace(
        pairs,
        captions=[(pairs if is_test else others).captions[row] for row, is_test in enumerate(test)],
        wrong=np.where(test, pairs.wrong, others.wrong),
    )
    features = np.where(
        test[:, None], feature_matrix(trajectories), feature_matrix(trajectories_of_others)
    )
    predictions = judge(
        features, mixture.captions, mixture.wrong, mixture.groups, test, run.seed, detector
    )
    wrong = mixture.wrong[test]
    auc, single = metrics.auc(wrong, predictions.log_odds), metrics.auc(wrong, predictions.s_0)
    return Transfer(
        run.scorer,
        run.explorer,
        run.noise,
        run.seed,
        trained_on,
        auc,
        single,
        metrics.auc(wrong, predictions.text_only),
        metrics.expected_calibration_error(wrong, predictions.p_error),
        100 * (auc / single - 1),
    )


SIZES = (50, 100, 200, 500, 1000, 3000)
SPLITS = 20
#: Minimum number of test pairs.
_LEFT = 100


@dataclass(frozen=True)
class CurvePoint(Run):
    """Means over `splits` random samples of `labelled` pairs. `worst_difference`: the minimum over
    the samples of AUC minus that of s_0 alone; `detector`: the name requested."""

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
    run: Run,
    detector: str = "best",
    sizes: Sequence[int] = SIZES,
    splits: int = SPLITS,
) -> list[CurvePoint]:
    """One entry for each size for which there are enough pairs."""
    features, groups = feature_matrix(trajectories), np.array(pairs.groups)
    points = []
    for size in sizes:
        if size + _LEFT > len(pairs):
            continue
        rows = []
        for split in range(splits):
            rng = np.random.default_rng((17, run.seed, size, split))
            in_sample = np.isin(groups, _groups_of(groups, size, rng))
            half = training_half(features, pairs.wrong, pairs.groups, ~in_sample, split)
            try:
                classifier = train(half, detector)
            except TrainingError:
                continue  # a fold contains only one class
            p_error = classifier.predict(features[~in_sample])
            wrong = pairs.wrong[~in_sample]
            rows.append(
                (
                    metrics.auc(wrong, classifier.model.log_odds(features[~in_sample])),
                    metrics.auc(wrong, -features[~in_sample, 0]),
                    metrics.expected_calibration_error(wrong, p_error),
                )
            )
        if rows:
            figures = np.array(rows)
            points.append(
                CurvePoint(
                    run.scorer, run.explorer, run.noise, run.seed, size, detector,
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
    count = int(np.searchsorted(np.cumsum(counts[order]), size)) + 1
    return distinct[order[:count]]
