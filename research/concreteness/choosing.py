"""Which captions people should rate (ICC §2, A.2): uniformly over both scores.

Sampled at random, most captions would be of the most common kind, and a regression on both scores
would learn little about the others.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: Cells of the grid along each score.
CELLS = 8


def uniformly(
    vba: Sequence[float] | NDArray[np.float64],
    sba: Sequence[float] | NDArray[np.float64],
    count: int,
    seed: int = 0,
) -> list[int]:
    """Rows of at most `count` captions whose scores, in [0, 1], are spread evenly, in random order.

    The unit square is divided into CELLS x CELLS cells, each of which in turn contributes a
    random caption until there are enough; empty cells are skipped.
    """
    rng = np.random.default_rng(seed)
    places = [
        np.minimum((np.asarray(scores) * CELLS).astype(int), CELLS - 1) for scores in (vba, sba)
    ]
    cells: dict[int, list[int]] = {}
    for row in rng.permutation(len(vba)).tolist():
        cells.setdefault(int(places[0][row] * CELLS + places[1][row]), []).append(row)
    chosen: list[int] = []
    while cells and len(chosen) < count:
        for cell in rng.permutation(sorted(cells)).tolist()[: count - len(chosen)]:
            chosen.append(cells[cell].pop())
            if not cells[cell]:
                del cells[cell]
    return chosen
