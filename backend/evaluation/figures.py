"""All figures of one run: a detector and its controls, trained on one half, judged on the other.

Selection and calibration see the training half only. Beside the detector stand what it must beat:
the single score, the score with the caption's length, and a classifier that never sees the image.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from backend.detection.classifier import Classifier, calibrate, choose, fold_of
from backend.detection.cold_start import balanced
from backend.detection.features import NAMES, Matrix, feature_matrix
from backend.detection.localisation import word_scores
from backend.detection.models import S_0, Linear
from backend.evaluation import metrics
from backend.evaluation.labelled import LabelledPairs
from backend.evaluation.metrics import Scores, Wrong
from backend.trajectories.trajectory import Trajectory

_LENGTH = NAMES.index("words")
#: Rates of error at which the effort is told, besides that of the pairs themselves.
RATES = (0.01, 0.05, 0.1)
_DRAWS = 20


@dataclass(frozen=True)
class Judged:
    """What a training half makes of the test half: probabilities and scores, higher is worse."""

    detector: str
    p_error: Scores
    s_0: Scores
    s_0_and_length: Scores
    text_only: Scores


@dataclass
class Figures:
    """One scorer, explorer, noise and seed. AUCs and all else are of the test half.

    `effort_*`: share of the pairs to look at until so much of the errors is found;
    `localisation`: by kind of change: top-1 and top-3 hit rate, AUC per word, and uniform chance.
    """

    scorer: str
    explorer: str
    noise: str
    seed: int
    pairs: int
    detector: str
    auc: float
    auc_single_score: float
    auc_score_and_length: float
    auc_text_only: float
    improvement_percent: float
    average_precision: float
    error_rate_at_95_recall: float
    brier: float
    expected_calibration_error: float
    effort: dict[str, float]
    effort_single_score: dict[str, float]
    localisation_top1: float | None = None
    localisation_top3: float | None = None
    localisation_auc: float | None = None
    localisation_chance: float | None = None
    localisation_by_kind: dict[str, dict[str, float]] = field(default_factory=dict)


def test_half(groups: Sequence[int], seed: int) -> NDArray[np.bool_]:
    """Half of the images, by lot; all pairs of an image fall on one side."""
    distinct = sorted(set(groups))
    lot = np.random.default_rng((11, seed)).permutation(len(distinct))
    side = {group: bool(lot[i] < len(distinct) // 2) for i, group in enumerate(distinct)}
    return np.array([side[group] for group in groups])


test_half.__test__ = False  # type: ignore[attr-defined]  # not a test, whatever pytest thinks


def judge(
    features: Matrix,
    captions: Sequence[str],
    wrong: Wrong,
    groups: Sequence[int],
    test: NDArray[np.bool_],
    seed: int,
) -> Judged:
    """Train on the pairs outside `test` with their labels, judge those in it without."""
    train = ~test
    labels = wrong[train].astype(np.int64)
    weights = balanced(labels)
    folds = fold_of(
        [group for group, is_test in zip(groups, test, strict=True) if not is_test], seed
    )
    chosen = choose(features[train], labels, weights, folds, labelled=True)
    model = chosen.model.fit(features[train], labels, weights)
    classifier = Classifier(model, calibrate(chosen.out_of_fold, labels, np.ones(len(labels))))
    length = Linear("s_0 and length", (*S_0.columns, _LENGTH)).fit(features[train], labels, weights)
    words = CountVectorizer(binary=True, ngram_range=(1, 2), min_df=2)
    own = [text for text, is_test in zip(captions, test, strict=True) if not is_test]
    other = [text for text, is_test in zip(captions, test, strict=True) if is_test]
    blind = LogisticRegression(C=0.1, max_iter=500).fit(words.fit_transform(own), labels)
    return Judged(
        chosen.model.kind,
        classifier.predict(features[test]),
        -features[test, 0],
        length.log_odds(features[test]),
        blind.decision_function(words.transform(other)),
    )


def figures_of(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    scorer: str,
    explorer: str,
    noise: str,
    seed: int,
) -> Figures:
    """Everything about one run."""
    features = feature_matrix(trajectories)
    test = test_half(pairs.groups, seed)
    judged = judge(features, pairs.captions, pairs.wrong, pairs.groups, test, seed)
    wrong = pairs.wrong[test]
    found = metrics.auc(wrong, judged.p_error)
    single = metrics.auc(wrong, judged.s_0)
    return Figures(
        scorer=scorer,
        explorer=explorer,
        noise=noise,
        seed=seed,
        pairs=len(pairs),
        detector=judged.detector,
        auc=found,
        auc_single_score=single,
        auc_score_and_length=metrics.auc(wrong, judged.s_0_and_length),
        auc_text_only=metrics.auc(wrong, judged.text_only),
        improvement_percent=100 * (found / single - 1),
        average_precision=metrics.average_precision(wrong, judged.p_error),
        error_rate_at_95_recall=metrics.error_rate_at_recall(wrong, judged.p_error),
        brier=metrics.brier(wrong, judged.p_error),
        expected_calibration_error=metrics.expected_calibration_error(wrong, judged.p_error),
        effort=effort(wrong, judged.p_error, seed),
        effort_single_score=effort(wrong, judged.s_0, seed),
        **localisation(pairs, trajectories),
    )


def effort(wrong: Wrong, scores: Scores, seed: int) -> dict[str, float]:
    """Review effort for 50, 80 and 95 % of the errors, and for 80 % at rarer errors.

    Subsets of a rate are drawn twenty times and their efforts averaged.
    """
    found = {
        f"{share:.0%} of the errors": metrics.review_effort(wrong, scores, share)
        for share in (0.5, 0.8, 0.95)
    }
    for rate in RATES:
        lot = np.random.default_rng((13, seed))
        try:
            drawn = [metrics.at_rate(wrong, rate, lot) for _ in range(_DRAWS)]
        except ValueError:
            continue  # too few pairs for so rare an error
        found[f"80% at a rate of {rate:.0%}"] = float(
            np.mean([metrics.review_effort(wrong[rows], scores[rows]) for rows in drawn])
        )
    return found


def localisation(pairs: LabelledPairs, trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Do the suspect scores point at the changed words? Of wrong pairs whose words are known."""
    rows: dict[str, list[tuple[float, float, float, float]]] = {}
    for trajectory, changed, kind in zip(trajectories, pairs.changed, pairs.kinds, strict=True):
        scores = word_scores(trajectory) if changed and trajectory.steps else np.zeros(0)
        truth = np.array([i in changed for i in range(len(scores))], np.bool_)
        if not truth.any() or truth.all():
            continue
        order = np.argsort(-scores, kind="stable")
        row = (
            float(truth[order[0]]),
            float(truth[order[:3]].any()),
            float(roc_auc_score(truth, scores)),
            float(truth.mean()),
        )
        rows.setdefault(kind or "all", []).append(row)
    every = [row for listed in rows.values() for row in listed]
    if not every:
        return {}
    top1, top3, area, chance = np.mean(every, axis=0).tolist()
    return {
        "localisation_top1": top1,
        "localisation_top3": top3,
        "localisation_auc": area,
        "localisation_chance": chance,
        "localisation_by_kind": {
            kind: dict(
                zip(
                    ("top1", "top3", "auc", "chance", "pairs"),
                    [*np.mean(listed, axis=0).tolist(), float(len(listed))],
                    strict=True,
                )
            )
            for kind, listed in sorted(rows.items())
        },
    }
