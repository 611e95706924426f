"""What verdicts have taught a classifier, on top of its probabilities.

    log-odds after = intercept + slope · log-odds before + sum of weights · standardised features

Without weights it moves only the level of the probabilities, not their order.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from backend.engine.detection.families import EVERY, Weights
from backend.engine.detection.features import (
    CAPTIONER,
    NAMES,
    Matrix,
    has_expectation,
)

#: Probabilities are kept this far from 0 and 1, so that no verdict outweighs all others.
_EDGE = 1e-3
#: Features beyond so many standard deviations count as if they were there.
_FARTHEST = 5.0
_CAPTIONER = tuple(NAMES.index(name) for name in CAPTIONER)


@dataclass(frozen=True)
class Scale:
    """Mean and standard deviation of `columns` of the features in a dataset; columns that hardly
    vary are left out."""

    columns: tuple[int, ...] = ()
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    @classmethod
    def of(cls, features: Matrix) -> "Scale":
        """The scale of a dataset's pairs; of the captioner's columns, that of captions it read."""
        is_read = has_expectation(features)
        scale = []
        for column in EVERY:
            values = features[is_read, column] if column in _CAPTIONER else features[:, column]
            if len(values) and (deviation := float(values.std())) > 1e-6:
                scale.append((column, float(values.mean()), deviation))
        return cls(*zip(*scale, strict=True)) if scale else cls()

    def __call__(self, features: Matrix) -> Matrix:
        """Standardised features, shape [rows, columns]. Unknown ones count as average."""
        values = (features[:, list(self.columns)] - np.array(self.mean)) / np.array(self.deviation)
        is_captioners = np.isin(self.columns, _CAPTIONER)
        values[np.ix_(~has_expectation(features), is_captioners)] = 0.0
        z_scores: Matrix = np.clip(values, -_FARTHEST, _FARTHEST)
        return z_scores


@dataclass(frozen=True)
class VerdictUpdate:
    """See the module docstring. `weights`: of the columns of `scale`; empty: only the level."""

    intercept: float = 0.0
    slope: float = 1.0
    weights: tuple[float, ...] = ()
    scale: Scale = Scale()

    def __call__(self, p_error: Weights, features: Matrix) -> Weights:
        """Probabilities of error after the update, shape [rows]."""
        odds = self.intercept + self.slope * log_odds(p_error)
        if self.weights:
            odds = odds + self.scale(features) @ np.array(self.weights)
        return probability(odds)

    def then(self, level: "VerdictUpdate") -> "VerdictUpdate":
        """This update followed by one of the level alone."""
        return VerdictUpdate(
            level.intercept + level.slope * self.intercept,
            level.slope * self.slope,
            tuple(level.slope * weight for weight in self.weights),
            self.scale,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "VerdictUpdate":
        scale = Scale(**{name: tuple(part) for name, part in value["scale"].items()})
        return cls(value["intercept"], value["slope"], tuple(value["weights"]), scale)


def log_odds(p_error: Weights) -> Weights:
    """Log-odds of probabilities, which are kept away from 0 and 1."""
    p = np.clip(p_error, _EDGE, 1 - _EDGE)
    odds: Weights = np.log(p / (1 - p))
    return odds


def probability(odds: Weights) -> Weights:
    p: Weights = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    return p
