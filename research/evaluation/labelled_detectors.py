"""Detectors trained on true labels, which only evaluation has: the product's are trained on noise.

All features are used, by logistic regression, XGBoost that starts from s_0, and an ensemble of
both. On drawn scenes these three are within a standard error of each other; trees from scratch lose
0.5 to 1 % of AUC and take fifty times as long (RESULTS.md). With fewer than FEWEST_FOR_MORE labels
only the nine signs and s_0 alone are candidates: there the lead of the best of many is mostly luck
(RESULTS.md, "Few labels").
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection import classifier
from backend.engine.detection.classifier import (
    Families,
    ModelChoice,
    Ticker,
    boosted_family,
    cart_family,
    choose,
    families_of,
    family_each,
    grown,
    signs_family,
)
from backend.engine.detection.families import (
    EVERY,
    S_0,
    THEORY,
    BoostedTrees,
    Labels,
    Linear,
    Model,
    Weights,
    signs_of,
)
from backend.engine.detection.features import Matrix
from backend.engine.detection.types import DETECTORS

#: With fewer labels only the nine signs and s_0 alone are candidates.
FEWEST_FOR_MORE = 300
#: Valid detector names.
LABELLED_DETECTORS = (*DETECTORS, "s_0 alone", "logistic", "xgboost on s_0", "ensemble")


@dataclass(frozen=True)
class StackedTrees(BoostedTrees):
    """XGBoost that starts from the log-odds of s_0 alone and learns a correction to them."""

    base: Linear = S_0

    @property
    def kind(self) -> str:
        return "xgboost on s_0"

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "StackedTrees":
        import xgboost

        base = S_0.fit(features, labels, weights)
        data = xgboost.DMatrix(features[:, self.columns], labels, weight=weights)
        data.set_base_margin(base.log_odds(features))
        booster = xgboost.train(self.settings, data, self.n_estimators)
        return replace(self, base=base, booster=booster)

    def log_odds_after(self, features: Matrix, trees: int) -> Weights:
        import xgboost

        data = xgboost.DMatrix(features[:, self.columns])
        data.set_base_margin(self.base.log_odds(features))
        margin = self.booster.predict(data, output_margin=True, iteration_range=(0, trees))
        return np.asarray(margin, np.float64)


@dataclass(frozen=True)
class Ensemble:
    """The mean of several models' log-odds."""

    members: tuple[Model, ...]
    kind: str = "ensemble"

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Ensemble":
        return Ensemble(tuple(member.fit(features, labels, weights) for member in self.members))

    def log_odds(self, features: Matrix) -> Weights:
        log_odds: Weights = np.mean([member.log_odds(features) for member in self.members], axis=0)
        return log_odds

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "members": [member.to_json() for member in self.members]}


def choose_labelled(
    features: Matrix,
    labels: Labels,
    weights: Weights,
    folds: NDArray[np.int64],
    detector: str = "best",
    tick: Ticker | None = None,
) -> ModelChoice:
    """`classifier.choose` for true labels: any lead of s_0 alone is enough.

    `detector`: one of LABELLED_DETECTORS. Raises SettingsError for another.
    """
    families = _families(detector, len(labels))
    return choose(features, labels, weights, folds, tick, detector, families, margin=0.0)


def _families(detector: str, labels: int) -> Families:
    logistic: list[Model] = [
        Linear("logistic", THEORY, 0.1, signs_of(THEORY)),
        *(Linear("logistic", EVERY, strength) for strength in (0.03, 0.3)),
    ]
    stacks = [
        grown(StackedTrees(3, rate, max(classifier.TREES), EVERY)) for rate in classifier.RATES[:2]
    ]
    members = (Linear("logistic", EVERY, 0.03), BoostedTrees(3, 0.05, 100, EVERY))
    ensemble = family_each([Ensemble((*members, StackedTrees(3, 0.05, 100, EVERY)))])
    more = [*family_each(logistic), *stacks, *ensemble]
    of_name = {
        "best": [*signs_family(), *(more if labels >= FEWEST_FOR_MORE else [])],
        "s_0 alone": [],
        "logistic": family_each(logistic),
        "cart": cart_family(THEORY, EVERY),
        "xgboost": boosted_family(THEORY, EVERY),
        "xgboost on s_0": stacks,
        "ensemble": ensemble,
    }
    return of_name[detector] if detector in of_name else families_of(detector)
