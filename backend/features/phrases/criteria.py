"""Support as criterion of stage two."""

from typing import TYPE_CHECKING

from backend.jobs.selection_criteria import Criterion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from backend.store import Store


def _over_pool(
    store: "Store", run_id: int, ids: "NDArray[np.int64]", pool: "NDArray[np.bool_]"
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """(support, weakest) of the pairs, both [pairs], normalised over another pool."""
    from backend.features.phrases.measuring import normalisation_over, support_of

    return support_of(store, run_id, ids, normalisation_over(store, run_id, ids, pool))


def _support(
    store: "Store", run_id: int, ids: "NDArray[np.int64]", pool: "NDArray[np.bool_]"
) -> "NDArray[np.float64]":
    return _over_pool(store, run_id, ids, pool)[0]


def _weakest(
    store: "Store", run_id: int, ids: "NDArray[np.int64]", pool: "NDArray[np.bool_]"
) -> "NDArray[np.float64]":
    return _over_pool(store, run_id, ids, pool)[1]


SUPPORT = Criterion(
    "support", "support", "backed by the picture (mean)", "hollow: support", "hollow", "support",
    _support,
)  # fmt: skip
WORST = Criterion(
    "worst", "weakest", "weakest phrase", "hollow: weakest phrase", "hollow", "support", _weakest
)
