"""Captions of a stretch of rows that stand in another order within it."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from backend.features.rows.alignment import Likenesses, Vectors

#: Rows of a stretch that is put in order.
FEWEST, MOST = 10, 500
#: Its order is believed if the captions fit by so many spreads better than as many of other rows.
BELIEVED = 5.0
#: A caption is given to a picture if it fits with at least this log-likelihood.
FITS = 3.0
_DRAWS = 20


def order_of(
    captions: "Vectors", pictures: "Vectors", first: int, last: int, likenesses: "Likenesses"
) -> dict[int, int]:
    """For rows `first` to `last`: the row (key) whose caption belongs to the picture of another
    (value), as far as the vectors show it; empty if they do not.

    The best assignment of any captions to pictures looks good: it is compared with those of as many
    captions of other rows. Rows whose caption fits stay. `captions`, `pictures`: centred vectors
    [rows, d] of the whole file."""
    from scipy.optimize import linear_sum_assignment

    own_likeness = np.einsum("rd,rd->r", captions, pictures).astype(np.float64)
    is_misfit = likenesses.log_likelihoods(own_likeness) < 0
    rows = np.arange(first, last + 1)
    rows = rows[is_misfit[rows]]
    others = np.setdiff1d(np.arange(len(captions)), np.arange(first, last + 1))
    if not FEWEST <= len(rows) <= MOST or len(others) < len(rows):
        return {}

    def assign(of: NDArray[np.int64]) -> tuple[NDArray[np.int64], float]:
        likeness = captions[of] @ pictures[rows].T
        places, targets = linear_sum_assignment(likeness, maximize=True)
        return targets, float(likeness[places, targets].mean())

    targets, mean = assign(rows)
    rng = np.random.default_rng(0)
    draws = [assign(rng.choice(others, len(rows), replace=False))[1] for _ in range(_DRAWS)]
    spread = float(np.std(draws)) or 1e-9
    if (mean - float(np.mean(draws))) / spread < BELIEVED:
        return {}
    likeness = np.einsum("rd,rd->r", captions[rows], pictures[rows[targets]]).astype(np.float64)
    fits = likenesses.log_likelihoods(likeness) >= FITS
    return {
        int(rows[place]): int(rows[targets[place]])
        for place in np.flatnonzero(fits)
        if targets[place] != place
    }
