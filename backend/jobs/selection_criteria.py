"""What stage two of a selection for training goes by."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from backend.store import Store

    OverPool = Callable[[Store, int, NDArray[np.int64], NDArray[np.bool_]], NDArray[np.float64]]

#: Share of the pairs that stage one keeps by their match, if no other is chosen.
ALIGN_SHARE = 0.7


@dataclass(frozen=True)
class Criterion:
    """`column`: of the pairs, higher is better; `title`: on the page; `reason`: of pairs that leave
    by it; `queue`: the name of the queue that shows them. `operation`: measures it, and its runs
    are of this kind; "": scoring does. `over_pool`: (store, run, ids of the pairs ascending, mask
    of stage one's pool) -> values, both [pairs], where the column is normalised over the usual pool
    and stage one keeps another."""

    name: str
    column: str
    title: str
    reason: str
    queue: str
    operation: str = ""
    over_pool: "OverPool | None" = None
