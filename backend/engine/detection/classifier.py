"""Model selection by 3-fold cross-validation, and calibrated probabilities.

Grids are the paper's (TRACED A.4): XGBoost over depth, learning rate and trees, CART over depth.
The nine signs (`families.NineSigns`) are the default: trees are chosen only if their
cross-validated AUC is higher by more than a quarter of its standard error. s_0 alone is a candidate
as well: if a single score is already right 97 times in 100, boosting from scratch can lose to it.
Folds never separate pairs of one image.

The labels are injected noise: models see only features whose sign is known from theory and are
constrained to it, because other features can distinguish injected errors from original captions
without indicating an error. (With true labels: `research/evaluation/labelled_detectors.py`.)

The paper's own detector can be selected by name (`DETECTORS`): XGBoost or CART on
e = [s_0 … s_T, c_1 … c_T], padded, with the libraries' defaults except for the grids of A.4: no
sign constraints, no weights, no subsampling, leaves of any size. As in TRACED §4.3 it is chosen by
3-fold grid search: the highest mean of the AUCs of three stratified folds; nothing else is tried.
"""

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.caption_chance import CaptionChance
from backend.engine.detection.families import (
    EIGHT_SIGNS,
    PAPERS_OWN,
    S_0,
    THEORY,
    BoostedTrees,
    Cart,
    Labels,
    Model,
    NineSigns,
    Weights,
    fit_model,
    from_json,
    has_captioner_evidence,
)
from backend.engine.detection.features import NAMES, Matrix, current_name, without_expectation
from backend.engine.detection.localisation import DEFAULT, WordWeights
from backend.engine.detection.log_odds import Calibration
from backend.engine.detection.opinion_signs import USUAL_WEIGHT
from backend.engine.detection.types import DETECTORS, FIRST_STEP_DETECTORS
from backend.engine.detection.verdict_update import VerdictUpdate
from backend.engine.trajectories.trajectory import Trajectory
from backend.engine.trajectories.word_expectations import with_expectations_of
from backend.errors import SettingsError, TrainingError

FOLDS = 3
Families = list[tuple[Model, list[Model]]]
DEPTHS, RATES, TREES = (3, 4, 5), (0.01, 0.05, 0.1, 0.5), (50, 100, 200, 400)
CART_DEPTHS = (1, 5, 10, None)
#: Grid for the weight of the nine signs relative to s_0 alone (`NineSigns.share`).
SHARES = (0.25, 0.5, 0.75, 1.0)
#: Lead over the nine signs that other families need, as a fraction of the AUC's standard error.
_MARGIN = 0.25
_FORMAT = 1

Ticker = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Classifier:
    """A fitted model with its calibration.

    `words`: the weights of suspect words' signs for this model and dataset; `captioner`: the
    captioner it was trained with (`Expectation.captioner`), "" if none. Expectations of other
    captioners are not comparable and are ignored. `first_step`: it was trained on the first step of
    trajectories, and reads nothing beyond it. `opinion_weight`: of a second model's opinion, which
    is not among the features (`opinion_signs.py`). `update`: what verdicts have taught it; None:
    nothing yet. `chance`: of captions of several claims; None: it has learnt from too few.
    """

    model: Model
    calibration: Calibration
    words: WordWeights = DEFAULT
    captioner: str = ""
    first_step: bool = False
    opinion_weight: float = USUAL_WEIGHT
    update: VerdictUpdate | None = None
    chance: CaptionChance | None = None

    @property
    def kind(self) -> str:
        return self.model.kind

    @property
    def needs_steps(self) -> bool:
        """Whether it can only judge whole trajectories."""
        return not self.first_step and self.kind not in FIRST_STEP_DETECTORS

    def read(self, trajectory: Trajectory) -> Trajectory:
        """The part of a trajectory that it uses: only its own captioner's expectations, and only
        the steps that it was trained on."""
        (has_expectation,) = with_expectations_of([trajectory], self.captioner)
        return has_expectation.first_step() if self.first_step else has_expectation

    def without_captioner(self) -> "Classifier":
        """The same without what captioners say: captions are judged by the model for those that no
        captioner has read."""
        return replace(self, captioner="")

    def log_odds(self, features: Matrix) -> Weights:
        """Log-odds of each row by the model alone, shape [n]."""
        return self.model.log_odds(features) if len(features) else np.zeros(0)

    def predict(self, features: Matrix) -> Weights:
        """Probability of error in [0, 1] of each row of `feature_matrix`, shape [n], where a row is
        a caption of one claim; for others see `judged_captions.py`."""
        p_error = self.calibration(self.log_odds(features))
        return p_error if self.update is None else self.update(p_error, features)

    def to_bytes(self) -> bytes:
        calibration = self.calibration
        return json.dumps(
            {
                "format": _FORMAT,
                "features": NAMES,
                "calibration": [calibration.slope, calibration.offset, calibration.share],
                "model": self.model.to_json(),
                "words": self.words.to_json(),
                "captioner": self.captioner,
                "first_step": self.first_step,
                "opinion_weight": self.opinion_weight,
                "update": self.update and self.update.to_json(),
                "chance": self.chance and self.chance.to_json(),
            }
        ).encode()

    @classmethod
    def from_bytes(cls, payload: bytes) -> "Classifier":
        """Raises TrainingError for a classifier trained on another version of the features."""
        value = json.loads(payload)
        feature_names = tuple(current_name(name) for name in value.get("features", ()))
        if value.get("format") != _FORMAT or feature_names != NAMES[: len(feature_names)]:
            raise TrainingError(
                "This classifier was trained by another version of TRACED Curator on different "
                "features. Train a new one."
            )
        slope, offset, share = value["calibration"]
        return cls(
            from_json(value["model"]),
            Calibration(slope, offset, share),
            WordWeights.from_json(value.get("words")),
            str(value.get("captioner", "")),
            bool(value.get("first_step", False)),
            float(value.get("opinion_weight", USUAL_WEIGHT)),
            VerdictUpdate.from_json(update) if (update := value.get("update")) else None,
            chance=CaptionChance.from_json(chance) if (chance := value.get("chance")) else None,
        )


@dataclass(frozen=True)
class ModelChoice:
    """The selected model, unfitted, with its out-of-fold log-odds and the AUC of every family."""

    model: Model
    out_of_fold: Weights
    auc: float
    auc_of: dict[str, float]


def fold_of(groups: Sequence[Hashable], seed: int = 0) -> NDArray[np.int64]:
    """Fold 0 … FOLDS - 1 of each row; rows of one group share it."""
    distinct = list(dict.fromkeys(groups))
    order = np.random.default_rng(seed).permutation(len(distinct))
    number = {group: int(order[i]) % FOLDS for i, group in enumerate(distinct)}
    return np.array([number[group] for group in groups])


def choose(
    features: Matrix,
    labels: Labels,
    weights: Weights,
    folds: NDArray[np.int64],
    tick: Ticker | None = None,
    detector: str = "best",
    families: Families | None = None,
    margin: float | None = None,
) -> ModelChoice:
    """The candidate with the highest out-of-fold AUC, subject to the margins described above.

    `detector`: one of DETECTORS. `families`: candidates instead of the detector's. `margin`: the
    lead that s_0 alone needs to be chosen; None: a standard error of its AUC, because injected
    labels reward whatever separates injections from captions. Raises TrainingError if a training
    fold has rows of one class only, SettingsError for an unknown detector.
    """
    if detector == "paper":
        return choose_as_published(features, labels, weights, folds, PAPERS_OWN, tick)
    candidates = families_of(detector) if families is None else families
    results = _cross_validate(features, labels, weights, folds, candidates, tick)
    alone = results.alone
    best = results.best or results.signs or alone
    if results.signs is not None and results.best is not None:
        ahead = _MARGIN * _standard_error(results.signs.auc, len(labels))
        if results.best.auc <= results.signs.auc + ahead:
            best = results.signs
    if margin is None:
        margin = _standard_error(alone.auc, len(labels))
    if detector == "best" and alone.auc > best.auc + margin:
        best = alone
    return best


def choose_as_published(
    features: Matrix,
    labels: Labels,
    weights: Weights,
    folds: NDArray[np.int64],
    columns: tuple[int, ...],
    tick: Ticker | None = None,
) -> ModelChoice:
    """TRACED's grid search over XGBoost and CART on the given columns, which its ablations vary.

    The AUCs, including that of s_0 alone, are means over three stratified folds. `folds`, which do
    not separate images, are only used for the out-of-fold log-odds of the winner. Raises
    TrainingError with fewer than three rows of either class.
    """
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold

    if min(labels.sum(), len(labels) - labels.sum()) < FOLDS:
        raise _too_few()
    parts = list(StratifiedKFold(FOLDS).split(features, labels))
    best: Model = S_0
    best_auc = -1.0
    auc_of: dict[str, float] = {}
    all_families: Families = [(S_0, [S_0]), *papers_families(columns)]
    for number, (template, variants) in enumerate(all_families):
        if tick is not None:
            tick(number, len(all_families), "Choosing a detector")
        models = [template.fit(features[rows], labels[rows], weights[rows]) for rows, _ in parts]
        for variant in variants:
            auc = float(
                np.mean(
                    [
                        roc_auc_score(labels[rows], _log_odds(model, variant, features[rows]))
                        for model, (_, rows) in zip(models, parts, strict=True)
                    ]
                )
            )
            auc_of[variant.kind] = max(auc, auc_of.get(variant.kind, 0.0))
            if variant != S_0 and auc > best_auc:
                best, best_auc = variant, auc
    out_of_fold = _out_of_fold(best, features, labels, weights, folds)
    return ModelChoice(best, out_of_fold, best_auc, auc_of)


def _out_of_fold(
    model: Model, features: Matrix, labels: Labels, weights: Weights, folds: NDArray[np.int64]
) -> Weights:
    """Log-odds of each row by the model fitted to the other folds, shape [n]."""
    out = np.zeros(len(labels))
    for fold in range(FOLDS):
        rows = folds == fold
        if len(set(labels[~rows].tolist())) < 2:
            raise _too_few()
        if rows.any():
            out[rows] = fit_model(model, features[~rows], labels[~rows], weights[~rows]).log_odds(
                features[rows]
            )
    return out


def unseen_log_odds(
    model: Model,
    features: Matrix,
    labels: Labels,
    weights: Weights,
    folds: NDArray[np.int64],
    groups: Sequence[Hashable],
    queries: Matrix,
    query_groups: Sequence[Hashable],
) -> Weights:
    """Log-odds of the rows of `queries` whose image is among the training rows' `groups`, each by a
    model fitted to the folds without that image; NaN for rows of other images. Shape [queries]."""
    fold_by_group = dict(zip(groups, folds.tolist(), strict=True))
    places = np.array([fold_by_group.get(group, -1) for group in query_groups], np.int64)
    odds = np.full(len(queries), np.nan)
    for fold in range(FOLDS):
        rows, rest = places == fold, folds != fold
        if rows.any():
            apart = fit_model(model, features[rest], labels[rest], weights[rest])
            odds[rows] = apart.log_odds(queries[rows])
    return odds


def _too_few() -> TrainingError:
    return TrainingError(
        "There are too few examples of right or of wrong captions to train on. Decide more "
        "pairs of either kind, or use a larger dataset."
    )


@dataclass(frozen=True)
class CandidateResults:
    """The best of s_0 alone, of the nine signs, and of all others; None if not tried."""

    alone: ModelChoice
    signs: ModelChoice | None
    best: ModelChoice | None


def _standard_error(auc: float, count: int) -> float:
    return float((auc * (1 - auc) / count) ** 0.5)


def _cross_validate(
    features: Matrix,
    labels: Labels,
    weights: Weights,
    folds: NDArray[np.int64],
    families: Families,
    tick: Ticker | None,
) -> CandidateResults:
    """Cross-validate every family on the same folds; s_0 alone is always included."""
    from sklearn.metrics import roc_auc_score

    for fold in range(FOLDS):
        if len(set(labels[folds != fold].tolist())) < 2:
            raise _too_few()
    if not has_captioner_evidence(features, labels):
        features = without_expectation(features)
    best: ModelChoice | None = None
    alone: ModelChoice | None = None
    signs: ModelChoice | None = None
    auc_of: dict[str, float] = {}
    all_families: Families = [(S_0, [S_0]), *families]
    for number, (template, variants) in enumerate(all_families):
        if tick is not None:
            tick(number, len(all_families), "Choosing a detector")
        models = [
            template.fit(features[folds != f], labels[folds != f], weights[folds != f])
            for f in range(FOLDS)
        ]
        for variant in variants:
            out = np.zeros(len(labels))
            for f in range(FOLDS):
                rows = folds == f
                out[rows] = _log_odds(models[f], variant, features[rows])
            auc = float(roc_auc_score(labels, out))
            auc_of[variant.kind] = max(auc, auc_of.get(variant.kind, 0.0))
            candidate = ModelChoice(variant, out, auc, auc_of)
            if variant == S_0:
                alone = candidate
            elif isinstance(variant, NineSigns):
                signs = candidate if signs is None or auc > signs.auc + 1e-6 else signs
            elif best is None or auc > best.auc + 1e-6:
                best = candidate
    assert alone is not None
    return CandidateResults(alone, signs, best)


def families_of(detector: str) -> Families:
    """A detector's (model to fit, grid variants that this one fit covers), excluding s_0 alone.

    Raises SettingsError for a name that is not in DETECTORS.
    """
    if detector not in DETECTORS:
        raise SettingsError(f"There is no detector '{detector}'; use {', '.join(DETECTORS)}.")
    return {
        "best": lambda: [*signs_family(), *cart_family(THEORY), *boosted_family(THEORY)],
        "paper": lambda: papers_families(PAPERS_OWN),
        "nine signs": signs_family,
        "eight signs": lambda: signs_family(EIGHT_SIGNS),
        "cart": lambda: cart_family(THEORY),
        "xgboost": lambda: boosted_family(THEORY),
    }[detector]()


def papers_families(columns: tuple[int, ...]) -> Families:
    """The paper's grids of XGBoost and CART (A.4) on given columns, which its ablations vary."""
    return [*cart_family(columns, held=False), *boosted_family(columns, held=False)]


def family_each(models: Iterable[Model]) -> Families:
    return [(model, [model]) for model in models]


def signs_family(template: NineSigns | None = None) -> Families:
    """One fit covers every share; the largest comes first, so that it wins ties."""
    signs = template or NineSigns()
    return [(signs, [replace(signs, share=share) for share in reversed(SHARES)])]


def cart_family(*sets: tuple[int, ...], held: bool = True) -> Families:
    return family_each(Cart(depth, columns, held=held) for columns in sets for depth in CART_DEPTHS)


def boosted_family(*sets: tuple[int, ...], held: bool = True) -> Families:
    return [
        grown(BoostedTrees(depth, rate, max(TREES), columns, held=held))
        for columns in sets
        for depth in DEPTHS
        for rate in RATES
    ]


def grown(template: BoostedTrees) -> tuple[Model, list[Model]]:
    """One fit with all trees covers every smaller number of trees."""
    return template, [replace(template, n_estimators=trees) for trees in TREES]


def _log_odds(model: Model, variant: Model, features: Matrix) -> Weights:
    if isinstance(model, NineSigns) and isinstance(variant, NineSigns):
        return replace(model, share=variant.share).log_odds(features)
    if isinstance(model, BoostedTrees) and isinstance(variant, BoostedTrees):
        return model.log_odds_after(features, variant.n_estimators)
    return model.log_odds(features)


def calibrate(log_odds: Weights, labels: Labels, weights: Weights) -> Calibration:
    """Platt scaling on out-of-fold log-odds."""
    from sklearn.linear_model import LogisticRegression

    column = np.clip(log_odds, -10, 10)[:, None]
    platt = LogisticRegression(C=1e3).fit(column, labels, sample_weight=weights)
    # A negative slope would invert the ranking; clipped to 0, a useless model predicts a constant.
    return Calibration(max(0.0, float(platt.coef_[0, 0])), float(platt.intercept_[0]))


def report_of(choice: ModelChoice) -> dict[str, Any]:
    """Report entries on model selection: the selected family, its AUC, and those of all others."""
    return {
        "detector": choice.model.kind,
        "auc": round(choice.auc, 4),
        "auc_s_0": round(choice.auc_of["s_0 alone"], 4),
        "auc_by_detector": {kind: round(auc, 4) for kind, auc in choice.auc_of.items()},
    }
