"""The candidate classifiers for cross-validation, and their serialisation.

All predict log-odds of "the caption is wrong". They are stored as JSON (XGBoost in its own JSON
model format), so that loading one cannot execute code.
"""

import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.features import (
    AUXILIARY,
    CAPTIONER,
    NAMES,
    PAPER,
    SIGNS,
    SUMMARY,
    Matrix,
    has_expectation,
    without_expectation,
)
from backend.errors import TrainingError

Labels = NDArray[np.int64]
Weights = NDArray[np.float64]
_EDGE = 1e-4
#: A captioner must have read more than this share of the training rows.
_MOSTLY = 0.5


#: Column sets. THEORY: trajectory columns whose sign is known from theory; EVERY: all of ours,
#: including the captioner's; PAPERS_OWN: the paper's own e = [s…, c…].
THEORY = tuple(NAMES.index(name) for name in SIGNS if name not in CAPTIONER)
EVERY = tuple(NAMES.index(name) for name in SUMMARY + AUXILIARY + CAPTIONER)
#: Both single scores and the length; the captioner's log-probabilities; the gains of edits.
NINE = tuple(
    NAMES.index(name)
    for name in (
        "log-odds of s_0", "auxiliary score: s_0", "words", "captioner: mean log p",
        "captioner: lowest log p", "captioner: largest distance to the best word",
        "gain of the best step", "largest deletion gain", "auxiliary score: largest deletion gain",
    )
)  # fmt: skip
#: NINE without the only sign that needs more than the first step of a trajectory.
EIGHT = tuple(column for column in NINE if NAMES[column] != "gain of the best step")
PAPERS_OWN = (0, *(NAMES.index(name) for name in PAPER))


def signs_of(columns: tuple[int, ...]) -> tuple[int, ...]:
    """The sign of each column's weight that theory says, 0: none."""
    return tuple(SIGNS.get(NAMES[column], 0) for column in columns)


class Model(Protocol):
    """A classifier, fitted or not; `fit` returns a fitted copy and does not modify this one."""

    @property
    def kind(self) -> str: ...

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Model": ...

    def log_odds(self, features: Matrix) -> Weights: ...

    def to_json(self) -> dict[str, Any]: ...


def odds(probability: Weights) -> Weights:
    """log(p / (1 - p)), with p clipped away from 0 and 1."""
    p = np.clip(probability, _EDGE, 1 - _EDGE)
    log_odds: Weights = np.log(p / (1 - p))
    return log_odds


@dataclass(frozen=True)
class Linear:
    """Logistic regression on standardised columns. On s_0 alone it is the baseline for all others.

    `signs`: constraint on the sign of each column's weight, 1 or -1, or 0 for none; empty: none.
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
        values = features[:, list(self.columns)]
        mean, deviation = values.mean(0), values.std(0)
        deviation[deviation < 1e-9] = 1.0
        z_scores = self._clip((values - mean) / deviation)
        coefficients, bias = _logistic(z_scores, labels, weights, self.strength, self.signs)
        return replace(
            self, mean=tuple(mean.tolist()), deviation=tuple(deviation.tolist()),
            weights=tuple(coefficients.tolist()), bias=bias,
        )  # fmt: skip

    def log_odds(self, features: Matrix) -> Weights:
        odds: Weights = self.contributions(features).sum(1) + self.bias
        return odds

    def contributions(self, features: Matrix) -> Matrix:
        """Contribution of each column to the log-odds relative to an average row, [rows,
        columns]."""
        values = features[:, list(self.columns)]
        z_scores = self._clip((values - np.array(self.mean)) / np.array(self.deviation))
        contributions: Matrix = z_scores * np.array(self.weights)
        return contributions

    @staticmethod
    def _clip(values: Matrix) -> Matrix:
        """Limits the influence of values far outside the training range."""
        return np.clip(values, -5, 5)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Linear":
        return cls(**_with_tuples(value))


@dataclass(frozen=True)
class NineSigns:
    """Logistic regression on NINE signs with sign constraints from theory: the baseline for more
    features and trees. Fifty labelled pairs are enough for it, and it is interpretable (`reasons`).

    `EIGHT_SIGNS` is the same without the sign that needs more than the first step.

    `share`: its weight in the log-odds; the rest comes from s_0 alone. Chosen by cross-validation,
    which may also choose s_0 alone.
    """

    share: float = 1.0
    signs: Linear = field(default_factory=lambda: Linear("nine signs", NINE, 0.1, signs_of(NINE)))
    alone: Linear = field(default_factory=lambda: Linear("s_0 alone", NINE[:1]))

    @property
    def kind(self) -> str:
        return self.signs.kind

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "NineSigns":
        return NineSigns(
            self.share,
            self.signs.fit(features, labels, weights),
            self.alone.fit(features, labels, weights),
        )

    def log_odds(self, features: Matrix) -> Weights:
        odds: Weights = self.share * self.signs.log_odds(features)
        if self.share < 1:
            odds = odds + (1 - self.share) * self.alone.log_odds(features)
        return odds

    def contributions(self, features: Matrix) -> Matrix:
        """Contribution of each sign to the log-odds relative to an average row, [rows, signs]."""
        contributions = self.share * self.signs.contributions(features)
        contributions[:, 0] += (1 - self.share) * self.alone.contributions(features)[:, 0]
        return contributions

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "share": self.share,
            "signs": self.signs.to_json(), "alone": self.alone.to_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "NineSigns":
        return cls(
            value["share"], Linear.from_json(value["signs"]), Linear.from_json(value["alone"])
        )


@dataclass(frozen=True)
class WithOrWithoutCaptioner:
    """One model for captions that a captioner has read and one for the others, so that the
    captioner helps where available and costs nothing elsewhere."""

    model: Model
    bare: Model

    @property
    def kind(self) -> str:
        return self.model.kind

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "WithOrWithoutCaptioner":
        rows = has_expectation(features)
        return WithOrWithoutCaptioner(
            self.model.fit(features[rows], labels[rows], weights[rows]),
            self.bare.fit(without_expectation(features), labels, weights),
        )

    def log_odds(self, features: Matrix) -> Weights:
        rows = has_expectation(features)
        odds = np.zeros(len(features))
        for model, part in ((self.model, rows), (self.bare, ~rows)):
            if part.any():
                odds[part] = model.log_odds(features[part])
        return odds

    def to_json(self) -> dict[str, Any]:
        return {"kind": "heard", "model": self.model.to_json(), "bare": self.bare.to_json()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "WithOrWithoutCaptioner":
        return cls(from_json(value["model"]), from_json(value["bare"]))


def has_captioner_evidence(features: Matrix, labels: Labels) -> bool:
    """Whether a captioner has read most of the rows, including rows of both classes."""
    rows = has_expectation(features)
    return bool(rows.mean() > _MOSTLY) and len(set(labels[rows].tolist())) == 2


def fit_model(model: Model, features: Matrix, labels: Labels, weights: Weights) -> Model:
    """The fitted model. If a captioner has read most rows, it is a `WithOrWithoutCaptioner`, with a
    second model for captions without one; otherwise the captioner's columns are ignored. TRACED's
    models, which have no such columns, are fitted as they are."""
    if isinstance(model, Cart | BoostedTrees) and not model.held:
        return model.fit(features, labels, weights)
    if not has_captioner_evidence(features, labels):
        return model.fit(without_expectation(features), labels, weights)
    return WithOrWithoutCaptioner(model, model).fit(features, labels, weights)


@dataclass(frozen=True)
class Cart:
    """One decision tree (CART) on the given columns.

    If `held`, it is monotonic in the signs from theory, its leaves have at least five rows, and a
    leaf's value is its share of wrong captions with add-one smoothing. Otherwise it is TRACED's:
    the library's defaults, without weights.
    """

    max_depth: int | None
    columns: tuple[int, ...]
    kind: str = "cart"
    tree: dict[str, list[float]] = field(default_factory=dict)
    held: bool = True

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "Cart":
        from sklearn.tree import DecisionTreeClassifier

        signs = signs_of(self.columns)
        if self.held:
            grown = DecisionTreeClassifier(
                max_depth=self.max_depth,
                min_samples_leaf=5,
                monotonic_cst=signs if any(signs) else None,
                random_state=0,
            ).fit(features[:, self.columns], labels, sample_weight=weights)
        else:
            grown = DecisionTreeClassifier(max_depth=self.max_depth, random_state=0)
            grown.fit(features[:, self.columns], labels)
        tree = grown.tree_
        share = tree.value[:, 0, 1] / tree.value[:, 0].sum(1)
        count = tree.weighted_n_node_samples
        value = (share * count + 1) / (count + 2) if self.held else share
        parts = {
            "left": tree.children_left, "right": tree.children_right, "feature": tree.feature,
            "threshold": tree.threshold, "value": value,
            "missing_left": tree.missing_go_to_left.astype(int),
        }  # fmt: skip
        return replace(self, tree={name: values.tolist() for name, values in parts.items()})

    def log_odds(self, features: Matrix) -> Weights:
        left, right = (np.array(self.tree[side], np.int64) for side in ("left", "right"))
        feature = np.array(self.tree["feature"], np.int64)
        threshold = np.array(self.tree["threshold"])
        missing_left = np.array(self.tree.get("missing_left", np.zeros(len(left))), np.bool_)
        # scikit-learn grows trees on float32, so compare in float32.
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
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "Cart":
        return cls(**_with_tuples(value))


@dataclass(frozen=True)
class BoostedTrees:
    """XGBoost on the given columns.

    If `held`, it is monotonic in the signs from theory and regularised by subsampling and by a
    minimum weight of the leaves. Otherwise it is TRACED's: the library's defaults, without weights.
    """

    max_depth: int
    learning_rate: float
    n_estimators: int
    columns: tuple[int, ...]
    booster: Any = None
    held: bool = True

    @property
    def kind(self) -> str:
        return "xgboost"

    def fit(self, features: Matrix, labels: Labels, weights: Weights) -> "BoostedTrees":
        import xgboost

        data = xgboost.DMatrix(
            features[:, self.columns], labels, weight=weights if self.held else None
        )
        return replace(self, booster=xgboost.train(self.settings, data, self.n_estimators))

    @property
    def settings(self) -> dict[str, Any]:
        """Those of the library."""
        settings: dict[str, Any] = {
            "objective": "binary:logistic", "max_depth": self.max_depth,
            "learning_rate": self.learning_rate, "seed": 0, "nthread": 2,
        }  # fmt: skip
        if self.held:
            settings |= {
                "subsample": 0.8, "min_child_weight": 3, "tree_method": "hist", "max_bin": 64,
                "monotone_constraints": signs_of(self.columns),
            }  # fmt: skip
        return settings

    def log_odds(self, features: Matrix) -> Weights:
        return self.log_odds_after(features, self.n_estimators)

    def log_odds_after(self, features: Matrix, trees: int) -> Weights:
        """Log-odds from the first `trees` trees only, so that one fit serves a whole grid."""
        import xgboost

        data = xgboost.DMatrix(features[:, self.columns])
        margin = self.booster.predict(data, output_margin=True, iteration_range=(0, trees))
        return np.asarray(margin, np.float64)

    def to_json(self) -> dict[str, Any]:
        return {
            **{field.name: getattr(self, field.name) for field in fields(self)},
            "kind": "xgboost",
            "booster": json.loads(self.booster.save_raw("json").decode()),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "BoostedTrees":
        import xgboost

        booster = xgboost.Booster()
        booster.load_model(bytearray(json.dumps(value["booster"]).encode()))
        content = {field.name: value[field.name] for field in fields(cls)}
        return cls(**_with_tuples(content | {"booster": booster}))


def _with_tuples(value: dict[str, Any]) -> dict[str, Any]:
    """Fields as read from JSON, which has no tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in value.items()}


def _logistic(
    features: Matrix, labels: Labels, weights: Weights, strength: float, signs: tuple[int, ...]
) -> tuple[Weights, float]:
    """Weights and bias that minimise the L2-penalised log-loss under the sign constraints."""
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


#: s_0 alone, as log-odds.
S_0 = Linear("s_0 alone", (NAMES.index("log-odds of s_0"),))
#: Columns that need no step of a trajectory after the first.
EIGHT_SIGNS = NineSigns(signs=Linear("eight signs", EIGHT, 0.1, signs_of(EIGHT)))


def from_json(value: dict[str, Any]) -> Model:
    """Any stored model. Raises TrainingError for a kind that earlier versions had, KeyError or
    ValueError for invalid data."""
    if value["kind"] == "ensemble" or value.get("stacked"):
        raise TrainingError(
            "This classifier is of a kind that this version no longer has; the dataset keeps its "
            "probabilities.",
            terminal="Rank it again: score DATASET --detector best; or, if it has learnt from "
            "verdicts, train DATASET --adopt.",
            page="Score the dataset again; or, if it has learnt from verdicts, let it learn again.",
        )
    if value["kind"] == "cart":
        return Cart.from_json(value)
    if value["kind"] == "xgboost":
        return BoostedTrees.from_json(value)
    if value["kind"] in (NineSigns().kind, EIGHT_SIGNS.kind):
        return NineSigns.from_json(value)
    if value["kind"] == "heard":
        return WithOrWithoutCaptioner.from_json(value)
    return Linear.from_json(value)
