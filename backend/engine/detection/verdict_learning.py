"""Learn from verdicts: the cold start is the prior, and verdicts update it.

A Bayesian logistic regression on the features, with the cold start's log-odds as a feature whose
weight is 1 before any verdict: intercept and slope are rather free, the other weights have a normal
prior around 0. How narrow it is, and whether the features matter at all, is decided by the evidence
(the marginal likelihood): the result is the average over `_PRECISIONS`, and over "not at all",
which has half of the prior weight. So a few verdicts teach little, and many as much as they can.

What is learnt is meant for the pairs that nobody has judged. Verdicts on pairs drawn at random tell
about them; others, such as those from the head of the queue, count half, and a tenth where there
are no others. Every verdict counts by the share of pairs of similar probability that are still
open: where all have been judged, there is nothing left to learn for. Without any pair drawn at
random only the level of the probabilities moves, and only a little.

Nothing gets worse: a new order is used only if it ranks held-out pairs drawn at random no worse
than the one in use (`learn`); otherwise the order stays, and only its level is learnt.

RESULTS.md ("Learning from verdicts") has the measurements behind these choices.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.counts import count_of, counted
from backend.engine.detection.classifier import Classifier
from backend.engine.detection.families import Labels, Weights
from backend.engine.detection.features import Matrix
from backend.engine.detection.opinion_signs import fitted_weight
from backend.engine.detection.paying_signs import harmful, signs_by_verdicts, signs_in_words
from backend.engine.detection.verdict_update import Scale, VerdictUpdate, log_odds, probability
from backend.engine.statistics.minima import least
from backend.errors import TrainingError
from backend.learning_texts import FEWEST_FOR_LEVEL

FEWEST_VERDICTS = 5
#: Precision of the prior of the intercept, the slope, and the features (infinite: not at all).
_INTERCEPT, _SLOPE = 0.05, 4.0
_PRECISIONS = (20.0, 80.0, 320.0)
#: Weight of a verdict on a pair that was not drawn at random.
_NOT_AT_RANDOM = 0.5
#: The same, and the precision of the prior of the intercept, where no pair was drawn at random:
#: verdicts on the head of the queue alone say little about the level of the rest.
_HEAD_ALONE, _INTERCEPT_ALONE = 0.1, 0.5
#: Pairs whose ranks differ by about this share of the dataset are of similar probability.
_SIMILAR, _CELLS = 0.15, 100
_FOLDS = 5
#: A new order needs so many held-out pairs drawn at random that are wrong, and that are right, and
#: may rank them worse by so many standard errors: few pairs are no better judge than the evidence.
_FEWEST_OF_A_KIND, _TOLERANCE = 3, 1.0
_RESAMPLES = 400


@dataclass(frozen=True)
class JudgedPairs:
    """Pairs of a dataset: those that were judged, and others that were drawn from it.

    `features`, shape [pairs, features], as the prior reads them; `p_prior`: probability of error by
    the prior, [pairs]; `labels`: 1 wrong, 0 right, -1 not judged; `at_random`: whether the pair was
    judged because it was drawn at random; `groups`: their images; `opinions`: a second model's
    (`opinion_signs`), 0 for none; `is_sampled`: whether the pair belongs to a random sample of the
    dataset.
    """

    features: Matrix
    p_prior: Weights
    labels: Labels
    at_random: NDArray[np.bool_]
    groups: Sequence[Hashable]
    opinions: Weights
    is_sampled: NDArray[np.bool_]

    @property
    def is_judged(self) -> NDArray[np.bool_]:
        return self.labels >= 0


@dataclass(frozen=True)
class InUse:
    """The classifier in use, and its probabilities of the pairs, [pairs]. `seen`: the judged pairs
    that it has learnt from."""

    classifier: Classifier
    p_error: Weights
    seen: NDArray[np.bool_]


@dataclass(frozen=True)
class LearntClassifier:
    """A classifier that has learnt from verdicts, and a report about it."""

    classifier: Classifier
    report: dict[str, Any]


def check_verdicts(count: int) -> None:
    """Raise TrainingError if there are too few verdicts to learn from, stating what is missing."""
    if count < FEWEST_VERDICTS:
        missing = count_of(FEWEST_VERDICTS - count, "more pair")
        raise TrainingError(
            f"{counted(count, 'verdict is', 'verdicts are')} right or wrong; training needs "
            f"{FEWEST_VERDICTS}. Decide {missing}."
        )


def learn(prior: Classifier, in_use: InUse, pairs: JudgedPairs, seed: int = 0) -> LearntClassifier:
    """Update the prior by all verdicts; if that ranks worse than the classifier in use, update the
    level of that one instead.

    The report's "learnt" is "order" or "level"; for "comparison" see `Comparison`. Raises
    TrainingError with too few verdicts.
    """
    is_judged, is_drawn = pairs.is_judged, pairs.is_judged & pairs.at_random
    check_verdicts(int(is_judged.sum()))
    comparison = None
    if is_drawn.any():
        after = _cross_fitted(pairs, is_judged, is_drawn, seed)
        before = in_use.p_error[is_drawn]
        if in_use.seen.any():
            before = _cross_fitted(pairs, in_use.seen & is_judged, is_drawn, seed)
        weights = _open_share(pairs)[is_drawn]
        comparison = compare(before, after, pairs.labels[is_drawn], weights, seed)
    is_order = comparison is not None and comparison.is_no_worse
    if is_order:
        update = fit_update(pairs, is_judged)
        base, p_error = prior, update(pairs.p_prior, pairs.features)
    else:
        base = in_use.classifier
        level = fit_update(replace(pairs, p_prior=in_use.p_error), is_judged, only_level=True)
        update = (base.update or VerdictUpdate()).then(level)
        p_error = level(in_use.p_error, pairs.features)
    labels = pairs.labels[is_judged]
    weight = fitted_weight(p_error[is_judged], pairs.opinions[is_judged], labels)
    report: dict[str, Any] = {
        "learnt": "order" if is_order else "level",
        "verdicts_wrong": int(labels.sum()),
        "verdicts_right": int(len(labels) - labels.sum()),
        "verdicts_at_random": int(is_drawn.sum()),
        "level_is_known": int(is_drawn.sum()) >= FEWEST_FOR_LEVEL,
    }
    if comparison is not None:
        report |= comparison.report()
    if pairs.opinions.any():
        report["opinion_weight"] = weight
    signs = signs_by_verdicts(
        pairs.features[is_drawn], pairs.labels[is_drawn], pairs.opinions[is_drawn]
    )
    if signs:
        report["signs"] = signs_in_words(signs)
        report["harmful"] = harmful(signs)
    return LearntClassifier(replace(base, update=update, opinion_weight=weight), report)


@dataclass(frozen=True)
class Comparison:
    """Two rankings of the same held-out pairs, drawn at random, of which `wrong` are wrong.

    `before`, `after`: errors among the first `wrong` pairs, by each ranking; `low`, `high`: 95 %
    interval of their difference; `auc_before`, `auc_after`: AUC, in which pairs count by how many
    pairs like them are open, with the standard error of their difference; None if all are right, or
    all wrong.
    """

    pairs: int
    wrong: int
    before: int
    after: int
    low: int
    high: int
    auc_before: float | None = None
    auc_after: float | None = None
    error: float = 0.0

    @property
    def is_no_worse(self) -> bool:
        """Whether the ranking after is not clearly worse, and there are pairs enough to tell."""
        if self.auc_before is None or self.auc_after is None:
            return False
        is_enough = min(self.wrong, self.pairs - self.wrong) >= _FEWEST_OF_A_KIND
        return is_enough and self.auc_after >= self.auc_before - _TOLERANCE * self.error

    def report(self) -> dict[str, Any]:
        entries: dict[str, Any] = {
            "compared_pairs": self.pairs, "first_places": self.wrong,
            "errors_first_before": self.before, "errors_first_after": self.after,
            "errors_first_low": self.low, "errors_first_high": self.high,
        }  # fmt: skip
        if self.auc_before is not None and self.auc_after is not None:
            entries["verdict_auc_before"] = round(self.auc_before, 4)
            entries["verdict_auc_after"] = round(self.auc_after, 4)
        return entries


def compare(
    before: Weights, after: Weights, labels: Labels, weights: Weights, seed: int = 0
) -> Comparison:
    """Compare two rankings of held-out pairs, all of shape [pairs], the likeliest errors first."""
    count, wrong = len(labels), int(labels.sum())
    in_first = np.zeros((2, count))
    for row, p in zip(in_first, (before, after), strict=True):
        order = np.argsort(-p, kind="stable")[:wrong]
        row[order] = labels[order]
    found_before, found_after = (int(row.sum()) for row in in_first)
    resamples = np.random.default_rng(seed).integers(0, count, (_RESAMPLES, count))
    low, high = np.quantile((in_first[1] - in_first[0])[resamples].sum(1), (0.025, 0.975))
    counts = (count, wrong, found_before, found_after, round(low), round(high))
    if not 0 < wrong < count:
        return Comparison(*counts)
    weights = weights + 1e-9  # of one kind none may be like an open pair
    is_wrong = labels == 1
    above = [_above(p, is_wrong, weights) for p in (before, after)]
    aucs = [float(np.average(rights[is_wrong], weights=weights[is_wrong])) for rights in above]
    variance = 0.0
    for kind in (is_wrong, ~is_wrong):
        share, change = weights[kind] / weights[kind].sum(), (above[1] - above[0])[kind]
        variance += float((share**2 * (change - share @ change) ** 2).sum())
    return Comparison(*counts, aucs[0], aucs[1], variance**0.5)


def _above(p: Weights, is_wrong: NDArray[np.bool_], weights: Weights) -> Weights:
    """The weighted share of pairs of the other kind that each pair is ordered correctly against,
    ties half: averages of it are the AUC, and its spread is the AUC's error (DeLong 1988)."""
    share = np.zeros(len(p))
    for kind, sign in ((is_wrong, 1.0), (~is_wrong, -1.0)):
        others, of_others = sign * p[~kind], weights[~kind]
        order = np.argsort(others)
        below = np.r_[0.0, np.cumsum(of_others[order])] / of_others.sum()
        ends = (np.searchsorted(others[order], sign * p[kind], side) for side in ("left", "right"))
        share[kind] = sum(below[end] for end in ends) / 2
    return share


def fit_update(
    pairs: JudgedPairs, rows: NDArray[np.bool_], only_level: bool = False
) -> VerdictUpdate:
    """The update of the prior by the verdicts of these rows; of its level alone with `only_level`
    or if no pair was drawn at random."""
    has_random = bool((rows & pairs.at_random).any())
    others, intercept = (
        (_NOT_AT_RANDOM, _INTERCEPT) if has_random else (_HEAD_ALONE, _INTERCEPT_ALONE)
    )
    weights = np.where(pairs.at_random, 1.0, others) * _open_share(pairs)
    prior_odds = log_odds(pairs.p_prior)
    verdicts = (prior_odds[rows], pairs.labels[rows], weights[rows])
    level = _fit(np.zeros((int(rows.sum()), 0)), *verdicts, np.inf, intercept)
    if only_level or not has_random:
        return VerdictUpdate(*level.parameters[:2])
    scale = Scale.of(pairs.features[pairs.is_sampled])
    signs = scale(pairs.features[rows])
    fits = [_fit(signs, *verdicts, precision) for precision in _PRECISIONS]
    evidence = np.array([fit.evidence for fit in fits])
    chances = np.r_[level.evidence, evidence - np.log(len(fits))]
    chances = np.exp(chances - chances.max())
    chances /= chances.sum()
    parameters = np.zeros(2 + len(scale.columns))
    parameters[:2] = chances[0] * level.parameters
    for chance, fit in zip(chances[1:], fits, strict=True):
        parameters += chance * fit.parameters
    intercept, slope, *learnt = parameters.tolist()
    return VerdictUpdate(intercept, slope, tuple(learnt), scale)


@dataclass(frozen=True)
class _Fit:
    """Intercept, slope and weights, and the logarithm of the evidence for their prior."""

    parameters: Weights
    evidence: float


def _fit(
    signs: Matrix,
    prior_odds: Weights,
    labels: Labels,
    weights: Weights,
    precision: float,
    intercept: float = _INTERCEPT,
) -> _Fit:
    """The most likely parameters, with Laplace's approximation of the evidence."""
    columns = np.column_stack([np.ones(len(labels)), prior_odds, signs])
    prior_mean = np.r_[0.0, 1.0, np.zeros(signs.shape[1])]
    precisions = np.r_[intercept, _SLOPE, np.full(signs.shape[1], precision)]

    # An infinite precision has no columns: in units of its prior every parameter is of order 1.
    units = 1 / np.sqrt(precisions)
    scaled_columns = columns * units

    def loss(away: Weights) -> float:
        odds = columns @ prior_mean + scaled_columns @ away
        likelihood = float((weights * (np.logaddexp(0, odds) - labels * odds)).sum())
        return likelihood + 0.5 * float(away @ away)

    def slope_and_curvature(away: Weights) -> tuple[Weights, Matrix]:
        p = probability(columns @ prior_mean + scaled_columns @ away)
        curvature = (scaled_columns * (weights * p * (1 - p))[:, None]).T @ scaled_columns
        return scaled_columns.T @ (weights * (p - labels)) + away, curvature + np.eye(len(away))

    away = least(loss, slope_and_curvature, np.zeros(len(units)))
    _, determinant = np.linalg.slogdet(slope_and_curvature(away)[1])
    return _Fit(prior_mean + units * away, -loss(away) - 0.5 * float(determinant))


def _open_share(pairs: JudgedPairs) -> Weights:
    """The share of pairs of similar probability that nobody has judged, in [0, 1], by row."""
    sample = pairs.p_prior[pairs.is_sampled]
    cells = np.searchsorted(np.sort(sample), pairs.p_prior) * _CELLS // (len(sample) + 1)
    counts = np.bincount(cells[pairs.is_sampled], minlength=_CELLS)
    judged_counts = np.bincount(cells[pairs.is_sampled & pairs.is_judged], minlength=_CELLS)
    distances = np.subtract.outer(np.arange(_CELLS), np.arange(_CELLS)) / (_CELLS * _SIMILAR)
    nearness = np.exp(-0.5 * distances**2)
    share: Weights = (1 - nearness @ judged_counts / (nearness @ counts))[cells]
    return share


def _cross_fitted(
    pairs: JudgedPairs, rows: NDArray[np.bool_], targets: NDArray[np.bool_], seed: int
) -> Weights:
    """How suspicious the `targets` are by updates that have learnt from the other images of
    `rows`, as log-odds without the level, which differs between folds. Shape [targets]."""
    distinct = list(dict.fromkeys(pairs.groups))
    order = np.random.default_rng(seed).permutation(len(distinct)) % _FOLDS
    fold_of = dict(zip(distinct, order.tolist(), strict=True))
    folds = np.array([fold_of[group] for group in pairs.groups])
    suspicion = np.zeros(len(folds))
    for fold in range(_FOLDS):
        inside = targets & (folds == fold)
        if inside.any():
            update = fit_update(pairs, rows & (folds != fold))
            p_error = update(pairs.p_prior[inside], pairs.features[inside])
            suspicion[inside] = log_odds(p_error) - update.intercept
    return suspicion[targets]
