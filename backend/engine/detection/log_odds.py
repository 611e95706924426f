"""From log-odds to probabilities of error."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SATURATION_START = 0.8


@dataclass(frozen=True)
class Calibration:
    """Maps log-odds to p = 1 / (1 + exp(-(slope · log-odds + offset))) and then, if `share` is not
    None, to p_error = share · p / (1 - p), kept below 1 (see `cold_start`)."""

    slope: float = 1.0
    offset: float = 0.0
    share: float | None = None

    def __call__(self, log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
        p = 1 / (1 + np.exp(-np.clip(self.slope * log_odds + self.offset, -30, 30)))
        if self.share is None:
            probabilities: NDArray[np.float64] = p
        else:
            ratio = self.share * p / (1 - p)
            # An estimate may exceed 1: compress it smoothly above _SATURATION_START to preserve
            # the ranking.
            over = np.maximum(ratio - _SATURATION_START, 0.0)
            bent = _SATURATION_START + (1 - _SATURATION_START) * over / (
                over + 1 - _SATURATION_START
            )
            probabilities = np.where(ratio > _SATURATION_START, bent, ratio)
        return probabilities
