"""LEMoN_OPT: the six parameters that best separate right from wrong on labelled pairs."""

import numpy as np
from numpy.typing import NDArray

from backend.engine.scoring.neighbours import LemonParameters, NeighbourBank
from backend.errors import TrainingError

#: Search ranges, sampled log-uniformly.
_RANGES = {
    "beta": (0.05, 100.0), "gamma": (0.05, 100.0), "tau_1n": (0.01, 20.0),
    "tau_2n": (0.01, 20.0), "tau_1m": (0.01, 20.0), "tau_2m": (0.01, 20.0),
}  # fmt: skip
_DRAWS, _ROUNDS = 400, 6
_FEWEST = 10


def fit_parameters(
    bank: NeighbourBank,
    rows: NDArray[np.int64],
    is_error: NDArray[np.bool_],
    neighbours: int = 30,
    seed: int = 0,
) -> LemonParameters:
    """The parameters of highest AUC on the bank's pairs at `rows`, labelled `is_error`, both [n].

    Random search, in ever smaller ranges around the best so far, starting from LEMoN_FIX; the
    result is never worse than LEMoN_FIX on these pairs. Raises TrainingError with fewer than 10
    pairs of either class.
    """
    from sklearn.metrics import roc_auc_score

    if min(int(is_error.sum()), int((~is_error).sum())) < _FEWEST:
        raise TrainingError(
            f"Fitting LEMoN needs at least {_FEWEST} right and {_FEWEST} wrong pairs; there are "
            f"{int((~is_error).sum())} and {int(is_error.sum())}."
        )
    distances = _Distances(bank, rows, neighbours)
    rng = np.random.default_rng(seed)
    names = list(_RANGES)
    low, high = np.log(np.array([_RANGES[name] for name in names])).T
    fixed = LemonParameters(neighbours)
    best = np.log([max(getattr(fixed, name), 1e-3) for name in names])
    best_auc = roc_auc_score(is_error, distances.of(best, names))
    spread = (high - low) / 2
    for _ in range(_ROUNDS):
        centre = best if spread[0] < (high - low)[0] / 2 else (low + high) / 2
        for _ in range(_DRAWS // _ROUNDS):
            drawn = np.clip(rng.uniform(centre - spread, centre + spread), low, high)
            auc = roc_auc_score(is_error, distances.of(drawn, names))
            if auc > best_auc:
                best, best_auc = drawn, auc
        spread = spread / 2
    return LemonParameters(neighbours, **dict(zip(names, np.exp(best).tolist(), strict=True)))


class _Distances:
    """Precomputed terms of LEMoN's score for some pairs, so that parameters are cheap to try."""

    def __init__(self, bank: NeighbourBank, rows: NDArray[np.int64], neighbours: int) -> None:
        images, captions = bank.images[rows], bank.captions[rows]
        near_x = bank.near_images(images, neighbours, rows.tolist())
        near_y = bank.near_captions(captions, neighbours, rows.tolist())
        self.d_1 = 1 - (images * captions).sum(1)
        self.gap_x = 1 - np.einsum("nd,nkd->nk", images, bank.images[near_x])
        self.gap_y = 1 - np.einsum("nd,nkd->nk", captions, bank.captions[near_y])
        self.said_x = 1 - np.einsum("nd,nkd->nk", captions, bank.captions[near_x])
        self.seen_y = 1 - np.einsum("nd,nkd->nk", images, bank.images[near_y])
        self.mismatch_x, self.mismatch_y = bank.mismatch[near_x], bank.mismatch[near_y]

    def of(self, logarithms: NDArray[np.float64], names: list[str]) -> NDArray[np.float64]:
        """d_1 + β d_n + γ d_m, shape [n]; higher is worse."""
        p = dict(zip(names, np.exp(logarithms), strict=True))
        weight_x = np.exp(-p["tau_1n"] * self.gap_x - p["tau_2n"] * self.mismatch_x)
        weight_y = np.exp(-p["tau_1m"] * self.gap_y - p["tau_2m"] * self.mismatch_y)
        d_n, d_m = (self.said_x * weight_x).mean(1), (self.seen_y * weight_y).mean(1)
        distances: NDArray[np.float64] = self.d_1 + p["beta"] * d_n + p["gamma"] * d_m
        return distances
