"""One chance of error for a caption of several claims: that at least one of them is wrong.

The chances of the claims cannot simply be combined: they are not independent, as one difficult
picture raises them all, and the largest of many is large by luck. So a logistic regression on three
numbers learns what they mean together:

    z = the claims' log-odds of being wrong
    log-odds of the caption = a · max(z) + b · mean(the others) + c · log(how many) + d

with a ≥ 0. It is learnt without labels from the errors that the cold start injects anyway: a
caption one claim of which is replaced by its noisy copy is wrong, the dataset's own captions are
mostly right (`detection.cold_start`). Measured in RESULTS.md, "Long captions".
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine.detection.log_odds import Calibration

FloatArray = NDArray[np.float64]

#: Captions of several claims that it takes to learn from.
FEWEST = 12
_PENALTY = 1e-2


@dataclass(frozen=True)
class CaptionChance:
    """Weights of the largest log-odds, of the mean of the others and of log(number), the intercept,
    and the calibration of the result."""

    largest: float = 1.0
    others: float = 0.0
    number: float = 0.0
    intercept: float = 0.0
    calibration: Calibration = field(default_factory=Calibration)

    def __call__(self, captions: Sequence[FloatArray]) -> FloatArray:
        """The chance that at least one claim is wrong, [captions]. `captions`: the log-odds of each
        one's claims, at least one each."""
        return self.calibration(self.log_odds(captions))

    def log_odds(self, captions: Sequence[FloatArray]) -> FloatArray:
        weights = np.array([self.largest, self.others, self.number])
        return signs_of(captions) @ weights + self.intercept

    def to_json(self) -> dict[str, Any]:
        calibration = self.calibration
        return {
            "weights": [self.largest, self.others, self.number, self.intercept],
            "calibration": [calibration.slope, calibration.offset, calibration.share],
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "CaptionChance":
        largest, others, number, intercept = value["weights"]
        return cls(largest, others, number, intercept, Calibration(*value["calibration"]))


def signs_of(captions: Sequence[FloatArray]) -> FloatArray:
    """The three numbers of each caption, [captions, 3].

    >>> signs_of([np.array([-1.0, 2.0, -3.0]), np.array([0.5])]).round(2).tolist()
    [[2.0, -2.0, 1.1], [0.5, 0.5, 0.0]]
    """
    rows = []
    for odds in captions:
        largest = float(odds.max())
        others = (float(odds.sum()) - largest) / (len(odds) - 1) if len(odds) > 1 else largest
        rows.append([largest, others, float(np.log(len(odds)))])
    return np.array(rows, np.float64).reshape(-1, 3)


def fit_caption_chance(
    right: Sequence[FloatArray], wrong: Sequence[FloatArray], weights: FloatArray | None = None
) -> CaptionChance | None:
    """Learn from the log-odds of the claims of captions; None with fewer than FEWEST of either
    kind. `weights`: of the right captions, then of the wrong ones; by default both kinds weigh the
    same. The result is not calibrated."""
    from scipy.optimize import minimize

    if min(len(right), len(wrong)) < FEWEST:
        return None
    signs = np.c_[signs_of([*right, *wrong]), np.ones(len(right) + len(wrong))]
    target = np.r_[-np.ones(len(right)), np.ones(len(wrong))]
    if weights is None:
        weights = np.where(target > 0, 1 / len(wrong), 1 / len(right))
    weights = weights / weights.sum()

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        margin = target * (signs @ parameters)
        pull = -weights * target / (1 + np.exp(np.clip(margin, -50, 50)))
        free = np.r_[parameters[:3], 0.0]
        value = float((weights * np.logaddexp(0, -margin)).sum()) + _PENALTY * float(free @ free)
        return value, signs.T @ pull + 2 * _PENALTY * free

    largest, others, number, intercept = minimize(
        loss, np.array([1.0, 0.0, 0.0, 0.0]), jac=True, method="L-BFGS-B",
        bounds=[(0.0, None), (None, None), (None, None), (None, None)],
    ).x  # fmt: skip
    return CaptionChance(float(largest), float(others), float(number), float(intercept))
