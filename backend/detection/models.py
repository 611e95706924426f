"""The classifiers among which cross-validation chooses, and how each is written down.

All give log-odds of "the caption is wrong". They are stored as JSON (XGBoost in its own JSON model
format): nothing that is read back can run code.
"""

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import xgboost
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from backend.detection.features import NAMES, PAPER, SECOND, SIGNS, SUMMARY, Matrix

Labels = NDArray[np.int64]
Weights = NDArray[np.float64]
_EDGE = 1e-4


#: The columns whose sign theory knows, all of ours, and the paper's own e = [s…, c…].
THEORY = tuple(NAMES.index(name) for name in SIGNS)
EVERY = tuple(NAMES.index(name) for name in SUMMARY + SECOND)
PAPERS_OWN = (0, *(NAMES.index(name) for name in PAPER))


def _signs(columns: tuple[int, ...], held: bool = True) -> tuple[int, ...]:
    return tuple(SIGNS.get(NAMES[column], 0) if held else 0 for column in columns)


class Model(Protocol):
    """Fitted or not; `fit` returns a fitted one and leaves this as it is."""

    @property
    def kind(self) -> str: ...

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Model": ...

    def log_odds(self, features: Matrix) -> Weights: ...

    def to_json(self) -> dict[str, Any]: ...


def odds(probability: Weights) -> Weights:
    """log(p / (1 - p)), p kept away from 0 and 1."""
    p = np.clip(probability, _EDGE, 1 - _EDGE)
    found: Weights = np.log(p / (1 - p))
    return found


@dataclass(frozen=True)
class Linear:
    """Logistic regression on standardised columns. On s_0 alone it is what every other has to beat.

    `signs`: of each column's weight, 1 or -1, where theory knows it; empty: any.
    """

    kind: str
    columns: tuple[int, ...]
    strength: float = 1.0
    signs: tuple[int, ...] = ()
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()
    weights: tuple[float, ...] = ()
    bias: float = 0.0

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Linear":
        chosen = features[:, list(self.columns)]
        mean, deviation = chosen.mean(0), chosen.std(0)
        deviation[deviation < 1e-9] = 1.0
        scaled = self._clipped((chosen - mean) / deviation)
        found, bias = _logistic(scaled, labels, weights, self.strength, self.signs)
        return Linear(
            self.kind, self.columns, self.strength, self.signs, tuple(mean.tolist()),
            tuple(deviation.tolist()), tuple(found.tolist()), bias,
        )  # fmt: skip

    def log_odds(self, features: Matrix) -> Weights:
        chosen = features[:, list(self.columns)]
        scaled = self._clipped((chosen - np.array(self.mean)) / np.array(self.deviation))
        found: Weights = scaled @ np.array(self.weights) + self.bias
        return found

    @staticmethod
    def _clipped(scaled: Matrix) -> Matrix:
        """A value far outside what was seen must not decide alone."""
        return np.clip(scaled, -5, 5)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "columns": self.columns, "strength": self.strength,
            "signs": self.signs, "mean": self.mean, "deviation": self.deviation,
            "weights": self.weights, "bias": self.bias,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Linear":
        return cls(
            value["kind"], tuple(value["columns"]), value["strength"], tuple(value["signs"]),
            tuple(value["mean"]), tuple(value["deviation"]), tuple(value["weights"]), value["bias"],
        )  # fmt: skip


@dataclass(frozen=True)
class Cart:
    """One decision tree (CART) on the given columns, `held` to the signs that theory knows.

    A leaf holds its share of wrong captions, smoothed by one of each kind.
    """

    max_depth: int | None
    columns: tuple[int, ...]
    kind: str = "cart"
    tree: dict[str, list[float]] = field(default_factory=dict)
    held: bool = True

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Cart":
        signs = _signs(self.columns, self.held)
        grown = DecisionTreeClassifier(
            max_depth=self.max_depth,
            min_samples_leaf=5,
            monotonic_cst=signs if any(signs) else None,
            random_state=0,
        ).fit(features[:, self.columns], labels, sample_weight=weights)
        tree = grown.tree_
        share = tree.value[:, 0, 1] / tree.value[:, 0].sum(1)
        count = tree.weighted_n_node_samples
        return Cart(
            self.max_depth,
            self.columns,
            tree={
                "left": tree.children_left.tolist(),
                "right": tree.children_right.tolist(),
                "feature": tree.feature.tolist(),
                "threshold": tree.threshold.tolist(),
                "value": ((share * count + 1) / (count + 2)).tolist(),
                "missing_left": tree.missing_go_to_left.astype(int).tolist(),
            },
            held=self.held,
        )

    def log_odds(self, features: Matrix) -> Weights:
        left, right = (np.array(self.tree[side], np.int64) for side in ("left", "right"))
        feature = np.array(self.tree["feature"], np.int64)
        threshold = np.array(self.tree["threshold"])
        missing_left = np.array(self.tree.get("missing_left", np.zeros(len(left))), np.bool_)
        # The tree was grown on float32, and compares so.
        values = features[:, self.columns].astype(np.float32)
        node = np.zeros(len(features), np.int64)
        while (inner := left[node] >= 0).any():
            rows = np.flatnonzero(inner)
            at = node[rows]
            value = values[rows, feature[at]]
            lower = np.where(np.isnan(value), missing_left[at], value <= threshold[at])
            node[rows] = np.where(lower, left[at], right[at])
        return odds(np.array(self.tree["value"])[node])

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "max_depth": self.max_depth, "columns": self.columns,
            "tree": self.tree, "held": self.held,
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Cart":
        held = value.get("held", True)
        return cls(value["max_depth"], tuple(value["columns"]), tree=value["tree"], held=held)


@dataclass(frozen=True)
class Boosted:
    """XGBoost on the given columns, `held` to the signs that theory knows.

    `stacked`: it starts from the log-odds of s_0 alone and learns what to add, so that it cannot
    forget what a single score already knows.
    """

    max_depth: int
    learning_rate: float
    n_estimators: int
    columns: tuple[int, ...]
    stacked: bool = False
    base: Linear | None = None
    booster: Any = None
    held: bool = True

    @property
    def kind(self) -> str:
        return "xgboost on s_0" if self.stacked else "xgboost"

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Boosted":
        base = S_0.fit(features, labels, weights) if self.stacked else None
        data = xgboost.DMatrix(features[:, self.columns], labels, weight=weights)
        if base is not None:
            data.set_base_margin(base.log_odds(features))
        booster = xgboost.train(
            {
                "objective": "binary:logistic",
                "max_depth": self.max_depth,
                "learning_rate": self.learning_rate,
                "subsample": 0.8,
                "min_child_weight": 3,
                "monotone_constraints": _signs(self.columns, self.held),
                "tree_method": "hist",
                "max_bin": 64,
                "seed": 0,
                "nthread": 2,
            },
            data,
            self.n_estimators,
        )
        return Boosted(
            self.max_depth, self.learning_rate, self.n_estimators, self.columns, self.stacked,
            base, booster, self.held,
        )  # fmt: skip

    def log_odds(self, features: Matrix) -> Weights:
        return self.log_odds_after(features, self.n_estimators)

    def log_odds_after(self, features: Matrix, trees: int) -> Weights:
        """As if boosting had stopped after so many trees: one fit serves a whole grid."""
        data = xgboost.DMatrix(features[:, self.columns])
        if self.base is not None:
            data.set_base_margin(self.base.log_odds(features))
        margin = self.booster.predict(data, output_margin=True, iteration_range=(0, trees))
        return np.asarray(margin, np.float64)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": "xgboost", "max_depth": self.max_depth, "learning_rate": self.learning_rate,
            "n_estimators": self.n_estimators, "columns": self.columns,
            "stacked": self.stacked, "held": self.held,
            "base": self.base.to_json() if self.base else None,
            "booster": json.loads(self.booster.save_raw("json").decode()),
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Boosted":
        booster = xgboost.Booster()
        booster.load_model(bytearray(json.dumps(value["booster"]).encode()))
        base = Linear.from_json(value["base"]) if value["base"] else None
        return cls(
            value["max_depth"], value["learning_rate"], value["n_estimators"],
            tuple(value["columns"]), value["stacked"], base, booster, value.get("held", True),
        )  # fmt: skip


@dataclass(frozen=True)
class Ensemble:
    """The mean of several models' log-odds."""

    members: tuple[Model, ...]
    kind: str = "ensemble"

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Ensemble":
        return Ensemble(tuple(one.fit(features, labels, weights) for one in self.members))

    def log_odds(self, features: Matrix) -> Weights:
        found: Weights = np.mean([one.log_odds(features) for one in self.members], axis=0)
        return found

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "members": [one.to_json() for one in self.members]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Ensemble":
        return cls(tuple(from_json(one) for one in value["members"]))


def _logistic(
    features: Matrix, labels: Labels, weights: Weights, strength: float, signs: tuple[int, ...]
) -> tuple[Weights, float]:
    """Weights and bias of least penalised log-loss, within the signs."""
    from scipy.optimize import minimize

    target = np.where(labels == 1, 1.0, -1.0)
    bounds = [
        (0.0, None) if sign > 0 else (None, 0.0) if sign < 0 else (None, None)
        for sign in signs or (0,) * features.shape[1]
    ]

    def loss(parameters: Weights) -> tuple[float, Weights]:
        margin = target * (features @ parameters[:-1] + parameters[-1])
        pull = -weights * target / (1 + np.exp(np.clip(margin, -50, 50)))
        value = strength * float((weights * np.logaddexp(0, -margin)).sum())
        value += 0.5 * float(parameters[:-1] @ parameters[:-1])
        slope = strength * np.r_[features.T @ pull, pull.sum()]
        slope[:-1] += parameters[:-1]
        return value, slope

    start = np.zeros(features.shape[1] + 1)
    best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[*bounds, (None, None)]).x
    return best[:-1], float(best[-1])


#: s_0 by itself, as log-odds.
S_0 = Linear("s_0 alone", (NAMES.index("log-odds of s_0"),))
#: s_0 and what the trajectory adds to it, each with the sign that theory knows.
BY_THEORY = Linear("logistic", THEORY, 0.1, _signs(THEORY))


def from_json(value: dict[str, Any]) -> Model:
    """Any stored model; raises KeyError or ValueError for what is none."""
    if value["kind"] == "cart":
        return Cart.from_json(value)
    if value["kind"] == "xgboost":
        return Boosted.from_json(value)
    if value["kind"] == "ensemble":
        return Ensemble.from_json(value)
    return Linear.from_json(value)
