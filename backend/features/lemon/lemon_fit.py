"""LEMoN's parameters, the index in which it searches neighbours, and LEMoN_OPT: the parameters that
best separate right from wrong on labelled pairs.

Two objectives: `fit_as_published` follows the authors' code (github.com/MLforHealth/LEMoN), which
maximises F1 on validation data and sweeps k and the distance; `fit_to_auc` is ours.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from backend.engine.scoring.protocol import FloatArray
from backend.errors import TrainingError

#: An array or a tensor of cosines.
Cosines = TypeVar("Cosines", NDArray[np.float64], torch.Tensor)
#: Version of the formula. Part of the run, so that scores of different versions are not mixed:
#: 1 weighted neighbours by 1 - cos instead of -cos, and took all pairs as neighbours.
FORMULA = 2


@dataclass(frozen=True)
class LemonParameters:
    """k, six hyperparameters and the distance between unit vectors. The defaults are LEMoN_FIX;
    LEMoN_OPT fits all of them to labels.

    `euclidean`: squared Euclidean distance, 2 - 2 cos, instead of the cosine distance, 1 - cos.
    """

    neighbours: int = 30
    beta: float = 5.0
    gamma: float = 5.0
    tau_1n: float = 0.1
    tau_2n: float = 5.0
    tau_1m: float = 0.1
    tau_2m: float = 5.0
    euclidean: bool = False

    def distance(self, cosines: Cosines) -> Cosines:
        """Distance of unit vectors with these cosines."""
        apart: Cosines = 1 - cosines
        return 2 * apart if self.euclidean else apart

    def gap(self, cosines: Cosines) -> Cosines:
        """Distance of a neighbour in the exponent of its weight. For the cosine distance the
        authors' code uses -cos, which multiplies the weights of 1 - cos by exp(tau_1)."""
        return self.distance(cosines) if self.euclidean else -cosines

    def as_dict(self) -> dict[str, float]:
        return {**asdict(self), "euclidean": float(self.euclidean), "formula": FORMULA}


#: LEMoN_FIX.
FIX = LemonParameters()


class NeighbourBank:
    """The pairs that serve as neighbours, as unit vectors, with exact search (faiss, inner
    product): those of the dataset's training part, or all pairs if it has none.

    `images` and `captions`: shape [pairs, d]; `keys`: external ids of the pairs, ascending. Raises
    ValueError if the keys are not.
    """

    def __init__(self, keys: Sequence[int], images: FloatArray, captions: FloatArray) -> None:
        import faiss

        self.keys = np.asarray(keys, np.int64)
        if np.any(np.diff(self.keys) <= 0):
            raise ValueError("keys must be ascending and unique")
        self.images = np.ascontiguousarray(images, np.float32)
        self.captions = np.ascontiguousarray(captions, np.float32)
        #: Cosine of image and caption of every pair, shape [pairs].
        self.matches = (self.images.astype(np.float64) * self.captions).sum(1)
        self._by_image = faiss.IndexFlatIP(images.shape[1])
        self._by_caption = faiss.IndexFlatIP(captions.shape[1])
        self._by_image.add(self.images)
        self._by_caption.add(self.captions)

    def __len__(self) -> int:
        return len(self.keys)

    def row_of(self, key: int) -> int:
        """The row of pair `key`, -1 if it is not in the bank."""
        row = int(np.searchsorted(self.keys, key))
        return row if row < len(self.keys) and self.keys[row] == key else -1

    def near_images(
        self, vectors: FloatArray, count: int, own_rows: Sequence[int]
    ) -> NDArray[np.int64]:
        """Rows of the nearest images, nearest first, excluding row own_rows[i]; [n, ≤ count]."""
        return self._near(self._by_image, vectors, count, own_rows)

    def near_captions(
        self, vectors: FloatArray, count: int, own_rows: Sequence[int]
    ) -> NDArray[np.int64]:
        return self._near(self._by_caption, vectors, count, own_rows)

    def _near(
        self, index: Any, vectors: FloatArray, count: int, own_rows: Sequence[int]
    ) -> NDArray[np.int64]:
        most = min(count, len(self) - 1)
        _, neighbours = index.search(np.ascontiguousarray(vectors, np.float32), most + 1)
        itself = np.asarray(own_rows, np.int64)[:, None]
        # Move the pair itself to the end of its row, then drop the last column.
        order = np.argsort(neighbours == itself, axis=1, kind="stable")
        rows: NDArray[np.int64] = np.take_along_axis(neighbours, order, 1)[:, :most]
        return rows


_NAMES = ("beta", "gamma", "tau_1n", "tau_2n", "tau_1m", "tau_2m")
#: Ranges of `fit_to_auc`, sampled log-uniformly.
_RANGES = {
    "beta": (0.05, 100.0), "gamma": (0.05, 100.0), "tau_1n": (0.01, 20.0),
    "tau_2n": (0.01, 20.0), "tau_1m": (0.01, 20.0), "tau_2m": (0.01, 20.0),
}  # fmt: skip
_DRAWS, _ROUNDS = 400, 6
_FEWEST = 10
#: The authors' sweep: numbers of neighbours, grid of β and γ and of τ1 = τ1n = τ1m and
#: τ2 = τ2n = τ2m, and starting points of the local searches.
COUNTS = (1, 2, 5, 10, 15, 20, 30, 50)
_BETAS = np.arange(0.0, 100.01, 5.0)
_TAUS = (0.0, 1.0, 5.0, 10.0)
_STARTS = (0.0, 0.5, 1.0, 10.0)
_METHODS = ("Powell", "Nelder-Mead")

Hyperparameters = NDArray[np.float64]


@dataclass(frozen=True)
class LabelledPairs:
    """Labelled pairs: their keys [n], unit vectors [n, d], and whether each caption is wrong [n].

    Pairs that are in the bank are recognised by their keys and are never their own neighbours.
    """

    keys: NDArray[np.int64]
    images: FloatArray
    captions: FloatArray
    wrong: NDArray[np.bool_]


def fit_to_auc(
    bank: NeighbourBank,
    pairs: LabelledPairs,
    start: LemonParameters = FIX,
    seed: int = 0,
) -> LemonParameters:
    """The parameters of highest AUC, with the number of neighbours and the distance of `start`.

    Random search, in ever smaller ranges around the best so far; never worse than `start` on these
    pairs. Raises TrainingError with fewer than 10 pairs of either class.
    """
    from sklearn.metrics import roc_auc_score

    _check(pairs)
    distances = Distances(bank, pairs, start.neighbours, start.euclidean)
    rng = np.random.default_rng(seed)
    low, high = np.log(np.array([_RANGES[name] for name in _NAMES])).T
    best = np.log([max(getattr(start, name), 1e-3) for name in _NAMES])
    best_auc = roc_auc_score(pairs.wrong, distances.of(np.exp(best)))
    spread = (high - low) / 2
    for _ in range(_ROUNDS):
        centre = best if spread[0] < (high - low)[0] / 2 else (low + high) / 2
        for _ in range(_DRAWS // _ROUNDS):
            candidate = np.clip(rng.uniform(centre - spread, centre + spread), low, high)
            auc = roc_auc_score(pairs.wrong, distances.of(np.exp(candidate)))
            if auc > best_auc:
                best, best_auc = candidate, auc
        spread = spread / 2
    return replace(start, **dict(zip(_NAMES, np.exp(best).tolist(), strict=True)))


def fit_as_published(
    bank: NeighbourBank,
    pairs: LabelledPairs,
    start: LemonParameters = FIX,
    counts: Sequence[int] = COUNTS,
) -> LemonParameters:
    """The parameters of highest F1 at the best threshold, over both distances and all `counts`.

    For each distance and number of neighbours, as in the authors' code: Powell and Nelder-Mead from
    four starting points, then a grid. (Their code also starts L-BFGS on a differentiable proxy, and
    searches the threshold by golden section; here all thresholds are compared.) `start` is only
    used if no parameters reach a higher F1. Raises TrainingError with fewer than 10 pairs of either
    class.
    """
    from scipy.optimize import minimize

    _check(pairs)
    best, best_f1 = start, -1.0
    usable = sorted({min(count, len(bank) - 1) for count in counts})
    for euclidean, count in product((False, True), usable):
        distances = Distances(bank, pairs, count, euclidean)

        def loss(values: Hyperparameters, distances: "Distances" = distances) -> float:
            return -float(best_f1_of(pairs.wrong, distances.of(values)[None])[0])

        minima = [
            minimize(loss, np.full(len(_NAMES), begin), method=method)
            for begin, method in product(_STARTS, _METHODS)
        ]
        ends = [(-float(result.fun), np.asarray(result.x)) for result in minima]
        ends.append(distances.best_of_grid(pairs.wrong))
        f1, values = max(ends, key=lambda end: end[0])
        if f1 > best_f1:
            best_f1 = f1
            parameters = dict(zip(_NAMES, values.tolist(), strict=True))
            best = LemonParameters(count, **parameters, euclidean=euclidean)
    return best


#: How labels are used, by the name of the setting.
OBJECTIVES: dict[
    str, Callable[[NeighbourBank, LabelledPairs, LemonParameters], LemonParameters]
] = {
    "opt": fit_as_published,
    "auc": fit_to_auc,
}


def best_f1_of(wrong: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Highest F1 over all thresholds for each row of `scores` [rows, n], higher is worse; [rows].

    Tied scores are called wrong together. Scores that are not finite count as the lowest.

    >>> best_f1_of(np.array([True, False, True]), np.array([[3.0, 2.0, 1.0], [2.0, 1.0, 2.0]]))
    array([0.8, 1. ])
    """
    finite = np.where(np.isfinite(scores), scores, -np.inf)
    order = np.argsort(-finite, axis=1, kind="stable")
    sorted_scores = np.take_along_axis(finite, order, 1)
    hits = np.cumsum(wrong[order], axis=1)
    f1 = 2 * hits / (np.arange(1, scores.shape[1] + 1) + wrong.sum())
    ends = np.ones(scores.shape, np.bool_)
    ends[:, :-1] = sorted_scores[:, :-1] > sorted_scores[:, 1:]
    highest: NDArray[np.float64] = np.where(ends, f1, 0.0).max(1)
    return highest


class Distances:
    """Precomputed terms of LEMoN's score for some pairs, so that parameters are cheap to try."""

    def __init__(
        self, bank: NeighbourBank, pairs: LabelledPairs, neighbours: int, euclidean: bool
    ) -> None:
        p = LemonParameters(neighbours, euclidean=euclidean)
        own_rows = [bank.row_of(key) for key in pairs.keys.tolist()]
        near_x = bank.near_images(pairs.images, neighbours, own_rows)
        near_y = bank.near_captions(pairs.captions, neighbours, own_rows)
        images, captions = pairs.images.astype(np.float64), pairs.captions.astype(np.float64)

        def cosines(
            vectors: NDArray[np.float64], among: FloatArray, near: NDArray[np.int64]
        ) -> NDArray[np.float64]:
            return np.einsum("nd,nkd->nk", vectors, among[near].astype(np.float64))

        self.d_1 = p.distance((images * captions).sum(1))
        self.gap_x = p.gap(cosines(images, bank.images, near_x))
        self.gap_y = p.gap(cosines(captions, bank.captions, near_y))
        self.caption_distance_x = p.distance(cosines(captions, bank.captions, near_x))
        self.image_distance_y = p.distance(cosines(images, bank.images, near_y))
        self.mismatch_x = p.distance(bank.matches[near_x])
        self.mismatch_y = p.distance(bank.matches[near_y])

    def of(self, values: Hyperparameters) -> NDArray[np.float64]:
        """d_1 + β d_n + γ d_m, shape [n], for β, γ, τ1n, τ2n, τ1m, τ2m; higher is worse."""
        beta, gamma, *taus = values
        d_n, d_m = self._near(*taus)
        distances: NDArray[np.float64] = self.d_1 + beta * d_n + gamma * d_m
        return distances

    def best_of_grid(self, wrong: NDArray[np.bool_]) -> tuple[float, Hyperparameters]:
        """The highest F1 on the authors' grid, and its hyperparameters."""
        betas, gammas = (axis.ravel() for axis in np.meshgrid(_BETAS, _BETAS, indexing="ij"))
        best, values = -1.0, np.zeros(len(_NAMES))
        for tau_1, tau_2 in product(_TAUS, _TAUS):
            d_n, d_m = self._near(tau_1, tau_2, tau_1, tau_2)
            f1 = best_f1_of(wrong, self.d_1 + betas[:, None] * d_n + gammas[:, None] * d_m)
            row = int(f1.argmax())
            if f1[row] > best:
                best = float(f1[row])
                values = np.array([betas[row], gammas[row], tau_1, tau_2, tau_1, tau_2])
        return best, values

    def _near(
        self, tau_1n: float, tau_2n: float, tau_1m: float, tau_2m: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """d_n and d_m, both [n]. The searches are unbounded, so weights may overflow."""
        with np.errstate(over="ignore", invalid="ignore"):
            weight_x = np.exp(-tau_1n * self.gap_x - tau_2n * self.mismatch_x)
            weight_y = np.exp(-tau_1m * self.gap_y - tau_2m * self.mismatch_y)
            d_n = (self.caption_distance_x * weight_x).mean(1)
            d_m = (self.image_distance_y * weight_y).mean(1)
            return d_n, d_m


def _check(pairs: LabelledPairs) -> None:
    wrong = int(pairs.wrong.sum())
    right = len(pairs.wrong) - wrong
    if min(right, wrong) < _FEWEST:
        raise TrainingError(
            f"Fitting LEMoN needs at least {_FEWEST} right and {_FEWEST} wrong pairs; there are "
            f"{right} and {wrong}."
        )
