"""Groups of near duplicates: pictures whose vectors are almost the same.

Every picture is compared with the first picture of each group. It joins the group of the nearest
one if their cosine is high enough; otherwise it starts a new group. All members are thus near
duplicates of one picture, without chaining: a similar to b and b to c does not join a and c.

    threshold 0.98        cosines a-b 0.99, b-c 0.99, a-c 0.96
    a starts a group, b joins it, c is compared with a alone and starts the next

Memory use is one vector per group plus one block of pictures, however many copies there are; a
table of all similar pairs would be quadratic in their number.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Range of thresholds. Below it, pictures that merely look alike would be grouped.
LOWEST, HIGHEST = 0.8, 1.0


@dataclass(frozen=True)
class Group:
    """`members`: rows, the first picture of the group first, then by descending cosine with it
    (`cosines`, 1 for the first)."""

    members: tuple[int, ...]
    cosines: tuple[float, ...]


def group_pictures(blocks: Iterable[NDArray[np.float32]], threshold: float) -> list[Group]:
    """Groups of two or more, in the order of their first rows.

    `blocks`: unit vectors [rows, d] in order, together [n, d]. `threshold`: minimum cosine with a
    group's first picture. A row of zeros joins no group. Raises ValueError for an invalid
    threshold.
    """
    if not LOWEST <= threshold <= HIGHEST:
        raise ValueError(f"the threshold is {threshold}, not between {LOWEST} and {HIGHEST}")
    import faiss

    index: Any = None
    first_of: list[int] = []  # the first row of each group
    members: dict[int, list[tuple[float, int]]] = {}
    start = 0
    for block in blocks:
        vectors = np.ascontiguousarray(block, np.float32)
        if index is None:
            index = faiss.IndexFlatIP(vectors.shape[1])
        groups, cosines = _nearest(index, vectors)
        founders: list[int] = []
        within = vectors @ vectors.T
        for row in range(len(vectors)):
            group, cosine = int(groups[row]), float(cosines[row])
            if founders:
                place = int(np.argmax(within[row, founders]))
                if within[row, founders[place]] > cosine:
                    group = len(first_of) - len(founders) + place
                    cosine = float(within[row, founders[place]])
            # The float32 cosine of equal vectors may be slightly below 1.
            if cosine >= threshold - 1e-6:
                members.setdefault(group, []).append((min(1.0, cosine), start + row))
            else:
                founders.append(row)
                first_of.append(start + row)
        index.add(vectors[founders])
        start += len(vectors)
    return [_group(first_of[group], others) for group, others in sorted(members.items())]


def _group(first: int, others: list[tuple[float, int]]) -> Group:
    ranking = sorted(others, key=lambda other: (-other[0], other[1]))
    return Group((first, *(row for _, row in ranking)), (1.0, *(cosine for cosine, _ in ranking)))


def _nearest(
    index: Any, vectors: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The group whose first picture is nearest to each row, and their cosine; -1 if none exists."""
    if not index.ntotal:
        return np.full(len(vectors), -1), np.full(len(vectors), -1.0)
    cosines, groups = index.search(vectors, 1)
    return groups[:, 0], cosines[:, 0].astype(np.float64)
