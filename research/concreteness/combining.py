"""One score from both reconstructions: σ(a · VBA + b · SBA + c) (ICC §2, "Optimal Combination")."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from backend.errors import TrainingError


@dataclass(frozen=True)
class Combination:
    vba: float
    sba: float
    bias: float

    def __call__(self, vba: Sequence[float], sba: Sequence[float]) -> NDArray[np.float64]:
        """In (0, 1), shape [captions]; higher is more concrete."""
        weighed = self.vba * np.asarray(vba) + self.sba * np.asarray(sba) + self.bias
        combined: NDArray[np.float64] = 1 / (1 + np.exp(-weighed))
        return combined


def fit(vba: Sequence[float], sba: Sequence[float], ratings: Sequence[float]) -> Combination:
    """Logistic regression on captions rated above the median against those below; those at the
    median are excluded. If the median is the lowest or the highest rating, the midpoint of the
    range is used instead. Raises TrainingError if only one class is present."""
    middle = float(np.median(ratings))
    if not min(ratings) < middle < max(ratings):
        middle = (min(ratings) + max(ratings)) / 2
    rows = [i for i, rating in enumerate(ratings) if rating != middle]
    labels = [ratings[i] > middle for i in rows]
    if len(set(labels)) < 2:
        raise TrainingError(
            "The labelled captions are all equally concrete: rate some higher and some lower than "
            "their median."
        )
    both = np.column_stack([np.asarray(vba)[rows], np.asarray(sba)[rows]])
    fitted = LogisticRegression().fit(both, labels)
    (a, b), (c,) = fitted.coef_[0], fitted.intercept_
    return Combination(float(a), float(b), float(c))
