"""All metrics of one run: a detector and its baselines, trained on one half, tested on the other.

Model selection and calibration only use the training half. The detector is compared with baselines
that it must beat: the single score, the score and the caption's length, and a text-only classifier.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from backend.engine.detection.classifier import (
    Classifier,
    ModelChoice,
    calibrate,
    choose_as_published,
    fold_of,
)
from backend.engine.detection.cold_start import balance_classes
from backend.engine.detection.families import PAPERS_OWN, S_0, Labels, Linear, Weights, fit_model
from backend.engine.detection.features import (
    AUXILIARY,
    MEAN_C,
    NAMES,
    PAPER,
    Matrix,
    feature_matrix,
    has_expectation,
    without_expectation,
)
from backend.engine.detection.localisation import DEFAULT, WordWeights
from backend.engine.trajectories.trajectory import Trajectory
from research.evaluation import metrics
from research.evaluation.corrections import CorrectionFigures
from research.evaluation.labelled import LabelledPairs, half_of
from research.evaluation.labelled_detectors import LABELLED_DETECTORS, choose_labelled
from research.evaluation.metrics import Bin, Scores, Wrong
from research.evaluation.suspect_hits import CHANCE, OURS, PRIOR, Localisation, WordScores
from research.evaluation.suspect_hits import localisation as localise

_LENGTH = NAMES.index("words")
_AUXILIARY = [NAMES.index(name) for name in AUXILIARY]
_S = tuple(NAMES.index(name) for name in PAPER if name.startswith("s_"))
_C = tuple(NAMES.index(name) for name in PAPER if name.startswith("c_"))
#: The paper's ablations (Tables 3 and 4) as feature columns, to be used with its own grids.
ABLATIONS: dict[str, tuple[int, ...]] = {
    "whole trajectory": PAPERS_OWN,
    "s alone": (0, *_S),
    "c alone": _C,
    "first step": (0,),
    "last step": tuple(
        NAMES.index(name) for name in ("s at 100% of the steps", "c at 100% of the steps")
    ),
    "mean": (NAMES.index("mean s"), NAMES.index(MEAN_C)),
    # Trajectories that end after T steps: longer ones help little (the paper gives no figures).
    **{f"T = {steps}": (0, *_S[:steps], *_C[:steps]) for steps in (1, 3, 10)},
}
#: Shares of wrong captions at which the cost is reported: real data is not half wrong.
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
_DRAWS = 20


@dataclass(frozen=True)
class TestPredictions:
    """Predictions for the test half: probabilities and scores, higher means more likely wrong.

    `log_odds`: of the model before calibration, which makes all probabilities equal where its
    ranking failed in cross-validation. Metrics of rankings use it, as the paper's do.
    """

    detector: str
    classifier: Classifier
    p_error: Scores
    log_odds: Scores
    s_0: Scores
    s_0_and_length: Scores
    both_scores: Scores | None
    text_only: Scores


@dataclass(frozen=True)
class AtRate:
    """Cost of finding errors at one error rate. `effort`: the share of pairs to review until 80 %
    of the errors are found (80 % in random order); `*_single_score`: the same by s_0 alone."""

    rate: float
    average_precision: float
    average_precision_single_score: float
    effort: float
    effort_single_score: float


@dataclass(frozen=True)
class Run:
    """What is evaluated."""

    scorer: str
    explorer: str
    noise: str
    seed: int


@dataclass(frozen=True)
class Figures(Run):
    """Metrics of one run, all computed on the test half.

    `auc_both_scores`: a classifier on s_0, the auxiliary s_0 and the length, if the scorer
    has one; `auc_without_second`, `auc_without_captioner`: the detector without the
    respective features; `localisation_phrase_*`: a hit is any word in the phrase of a changed word;
    `effort`, `effort_single_score`: share of the pairs to review until that share of the errors is
    found; `localisation`: by scoring method and by kind; `auc_by_detector`: AUC of each detector
    family; `ablations`: AUC of the paper's ablations, with its own features and grids.
    """

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
    reliability: list[Bin]
    effort: dict[str, float]
    effort_single_score: dict[str, float]
    at_rate: list[AtRate]
    auc_both_scores: float | None = None
    auc_without_second: float | None = None
    auc_without_captioner: float | None = None
    effort_ratio_at_10_percent: float | None = None
    localisation_top1: float | None = None
    localisation_top3: float | None = None
    localisation_phrase_top1: float | None = None
    localisation_phrase_top3: float | None = None
    localisation_auc: float | None = None
    localisation_chance: float | None = None
    localisation_word_prior: float | None = None
    localisation: Localisation | None = None
    auc_by_detector: dict[str, float] = field(default_factory=dict)
    ablations: dict[str, float] = field(default_factory=dict)
    corrections: dict[str, CorrectionFigures] = field(default_factory=dict)


@dataclass(frozen=True)
class Half:
    """The training pairs of a detector: features, labels, weights, folds."""

    features: Matrix
    labels: Labels
    weights: Weights
    folds: NDArray[np.int64]


def test_half(pairs: LabelledPairs, seed: int) -> NDArray[np.bool_]:
    """Mask of the dataset's own test split if it has one; otherwise of a random half of the images.

    All pairs of an image fall on the same side.
    """
    if pairs.test is not None:
        return pairs.test
    return half_of(pairs.groups, seed)


test_half.__test__ = False  # prevents collection by pytest  # pyrefly: ignore[missing-attribute]


def training_half(
    features: Matrix, wrong: Wrong, groups: Sequence[int], test: NDArray[np.bool_], seed: int
) -> Half:
    """All pairs outside `test`. The folds depend only on the images and the seed, so that all
    candidates are compared on the same ones."""
    labels = wrong[~test].astype(np.int64)
    train_groups = [group for group, is_test in zip(groups, test, strict=True) if not is_test]
    return Half(features[~test], labels, balance_classes(labels), fold_of(train_groups, seed))


def judge(
    features: Matrix,
    captions: Sequence[str],
    wrong: Wrong,
    groups: Sequence[int],
    test: NDArray[np.bool_],
    seed: int,
    detector: str = "best",
) -> TestPredictions:
    """Train detector and baselines on the labelled pairs outside `test`, and predict for `test`."""
    half = training_half(features, wrong, groups, test, seed)
    classifier = train(half, detector)
    length = Linear("s_0 and length", (*S_0.columns, _LENGTH))
    length = length.fit(half.features, half.labels, half.weights)
    both = None
    if features[:, _AUXILIARY].any():
        columns = (*S_0.columns, NAMES.index("auxiliary score: s_0"), _LENGTH)
        both = Linear("both scores and length", columns)
        both = both.fit(half.features, half.labels, half.weights)
    words = CountVectorizer(binary=True, ngram_range=(1, 2), min_df=2)
    train_captions = [text for text, is_test in zip(captions, test, strict=True) if not is_test]
    other = [text for text, is_test in zip(captions, test, strict=True) if is_test]
    blind = LogisticRegression(C=0.1, max_iter=500).fit(
        words.fit_transform(train_captions), half.labels
    )
    return TestPredictions(
        classifier.kind,
        classifier,
        classifier.predict(features[test]),
        classifier.model.log_odds(features[test]),
        -features[test, 0],
        length.log_odds(features[test]),
        both.log_odds(features[test]) if both is not None else None,
        blind.decision_function(words.transform(other)),
    )


def train(half: Half, name: str) -> Classifier:
    """A detector that is selected, trained and calibrated on the training half."""
    choice = choose_labelled(half.features, half.labels, half.weights, half.folds, name)
    model = fit_model(choice.model, half.features, half.labels, half.weights)
    calibration = calibrate(choice.out_of_fold, half.labels, np.ones(len(half.labels)))
    return Classifier(model, calibration)


def figures_of(
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    run: Run,
    *,
    detector: str = "best",
    gradients: Sequence[WordScores] | None = None,
    interventions: Sequence[WordScores] | None = None,
    corrections: Callable[[TestPredictions, NDArray[np.bool_]], dict[str, CorrectionFigures]]
    | None = None,
    word_weights: WordWeights | None = None,
) -> Figures:
    """All metrics of one run but those that `compare_detectors` adds, which are slow.

    `corrections` is called with the predictions and the mask of the test half;
    `word_weights`: of suspect words, None for the default.
    """
    features = feature_matrix(trajectories)
    test = test_half(pairs, run.seed)
    predictions = judge(
        features, pairs.captions, pairs.wrong, pairs.groups, test, run.seed, detector
    )
    wrong = pairs.wrong[test]
    auc = metrics.auc(wrong, predictions.log_odds)

    def auc_of(matrix: Matrix) -> float:
        half = training_half(matrix, pairs.wrong, pairs.groups, test, run.seed)
        return metrics.auc(wrong, train(half, detector).model.log_odds(matrix[test]))

    both = without = deaf = None
    if predictions.both_scores is not None:
        both = metrics.auc(wrong, predictions.both_scores)
        ablation = features.copy()
        ablation[:, _AUXILIARY] = 0.0
        without = auc_of(ablation)
    if has_expectation(features).any():
        deaf = auc_of(without_expectation(features))
    single = metrics.auc(wrong, predictions.s_0)
    words = localise(pairs, trajectories, test, gradients, interventions, word_weights or DEFAULT)
    ours = words.by_score[OURS] if words else None
    rates = at_rates(wrong, predictions.log_odds, predictions.s_0, run.seed)
    tenth = next((at for at in rates if at.rate == 0.1), None)
    return Figures(
        **vars(run),
        pairs=len(pairs),
        detector=predictions.detector,
        auc=auc,
        auc_single_score=single,
        auc_score_and_length=metrics.auc(wrong, predictions.s_0_and_length),
        auc_text_only=metrics.auc(wrong, predictions.text_only),
        improvement_percent=100 * (auc / single - 1),
        average_precision=metrics.average_precision(wrong, predictions.log_odds),
        error_rate_at_95_recall=metrics.error_rate_at_recall(wrong, predictions.log_odds),
        brier=metrics.brier(wrong, predictions.p_error),
        expected_calibration_error=metrics.expected_calibration_error(wrong, predictions.p_error),
        reliability=metrics.reliability(wrong, predictions.p_error),
        effort=effort(wrong, predictions.log_odds),
        effort_single_score=effort(wrong, predictions.s_0),
        at_rate=rates,
        auc_both_scores=both,
        auc_without_second=without,
        auc_without_captioner=deaf,
        effort_ratio_at_10_percent=tenth.effort / tenth.effort_single_score if tenth else None,
        localisation_top1=ours.top1 if ours else None,
        localisation_top3=ours.top3 if ours else None,
        localisation_phrase_top1=ours.phrase_top1 if ours else None,
        localisation_phrase_top3=ours.phrase_top3 if ours else None,
        localisation_auc=ours.auc if ours else None,
        localisation_chance=words.by_score[CHANCE].top1 if words else None,
        localisation_word_prior=words.by_score[PRIOR].top1 if words else None,
        localisation=words,
        corrections=corrections(predictions, test) if corrections is not None else {},
    )


def compare_detectors(
    figures: Figures,
    pairs: LabelledPairs,
    trajectories: Sequence[Trajectory],
    minimising_trajectories: Sequence[Trajectory] | None = None,
) -> Figures:
    """Add the results of every detector family and of the paper's ablations, on the same folds.

    `minimising_trajectories`: those that minimise s, for the paper's Table 5.
    """
    features = feature_matrix(trajectories)
    test = test_half(pairs, figures.seed)
    half = training_half(features, pairs.wrong, pairs.groups, test, figures.seed)
    wrong = pairs.wrong[test]

    def auc_of(choice: ModelChoice, half: Half, features: Matrix) -> float:
        model = choice.model.fit(half.features, half.labels, half.weights)
        return metrics.auc(wrong, model.log_odds(features[test]))

    of = (half.features, half.labels, half.weights, half.folds)
    by_detector = {
        name: auc_of(choose_labelled(*of, name), half, features)
        for name in LABELLED_DETECTORS
        if name not in ("best", "paper")
    }
    ablations = {
        name: auc_of(choose_as_published(*of, columns), half, features)
        for name, columns in ABLATIONS.items()
    }
    by_detector["paper"] = ablations["whole trajectory"]
    if minimising_trajectories is not None:
        other = feature_matrix(minimising_trajectories)
        low = replace(half, features=other[~test])
        choice = choose_as_published(low.features, low.labels, low.weights, low.folds, PAPERS_OWN)
        ablations["minimised"] = auc_of(choice, low, other)
    return replace(figures, auc_by_detector=by_detector, ablations=ablations)


def effort(wrong: Wrong, scores: Scores) -> dict[str, float]:
    """Review effort for 50, 80 and 95 % of the errors."""
    return {
        f"{share:.0%} of the errors": metrics.review_effort(wrong, scores, share)
        for share in (0.5, 0.8, 0.95)
    }


def at_rates(wrong: Wrong, p_error: Scores, s_0: Scores, seed: int) -> list[AtRate]:
    """Results at each of RATES for which there are enough pairs, averaged over random subsets."""
    at_each = []
    for rate in RATES:
        rng = np.random.default_rng((13, seed))
        try:
            samples = [metrics.at_rate(wrong, rate, rng) for _ in range(_DRAWS)]
        except ValueError:
            continue  # too few pairs for this rate
        repeats = [
            [
                metric(wrong[rows], scores[rows])
                for metric in (metrics.average_precision, metrics.review_effort)
                for scores in (p_error, s_0)
            ]
            for rows in samples
        ]
        at_each.append(AtRate(rate, *np.mean(repeats, axis=0).tolist()))
    return at_each
