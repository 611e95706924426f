"""Bags of similar pictures (SR, Algorithms 1 and 2, and B.2).

A bag holds pictures that a caption must tell apart. Pictures are compared by a *multimodal* vector,
the picture's own concatenated with the mean of its captions' vectors:

    m_i = (z_i || t_i) / sqrt(2)        z_i, t_i unit vectors

The paper does not normalise t_i, which then weighs less the more its captions differ; we do. Unlike
the paper, we never put near duplicates into one bag, since no caption can tell them apart.

    candidate bag of i    i and its nearest pictures; alpha = their mean cosine with i
    curated bags          by alpha descending, each that is disjoint from those already taken
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from backend.datasets.safe_files.regular_files import replacement
from backend.engine.unit_vectors import NEAR_DUPLICATE, unit


def file_name(size: int) -> str:
    return f"bags-{size}.json"


def write_bags(path: Path, bags: Sequence[Sequence[str]]) -> None:
    """Write one bag per line, so that two files can be diffed."""
    lines = ",\n".join(json.dumps(list(bag), ensure_ascii=False) for bag in bags)
    with replacement(path) as part:
        part.write_text(f"[\n{lines}\n]\n" if bags else "[]\n", encoding="utf-8", newline="\n")


Floats = NDArray[np.floating]

#: Number of neighbours searched for a bag's pictures, as published.
NEIGHBOURS = 200
#: A bag needs two pictures to compare; more than 50 are too many to review.
SMALLEST, LARGEST = 2, 50
_ROWS = 1024


@dataclass(frozen=True)
class Bag:
    """`members`: rows of pictures, the query first, then nearest first. `alpha`: the mean cosine of
    the others with the query; higher is harder."""

    members: tuple[int, ...]
    alpha: float


def multimodal(pictures: ArrayLike, captions: ArrayLike) -> NDArray[np.float32]:
    """m [n, 2d] of pictures [n, d] and the mean vectors of their captions [n, d']."""
    return np.hstack([unit(pictures), unit(captions)]) / np.float32(np.sqrt(2))


def nearest(
    vectors: NDArray[np.float32], count: int = NEIGHBOURS, rows: Sequence[int] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The `count` nearest other rows of each row (or of `rows`), and their cosines: [n, count].

    Exact, nearest first, ties by the smaller row; fewer columns if there are fewer vectors. The
    n x n matrix is never materialised.
    """
    import faiss

    queries = np.arange(len(vectors)) if rows is None else np.asarray(rows, np.int64)
    count = max(0, min(count, len(vectors) - 1))
    places = np.zeros((len(queries), count), np.int64)
    cosines = np.zeros((len(queries), count))
    if not count:
        return places, cosines
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors))
    for first in range(0, len(queries), _ROWS):
        part = queries[first : first + _ROWS]
        _, neighbours = index.search(np.ascontiguousarray(vectors[part]), count + 1)
        for row, (itself, near) in enumerate(zip(part, neighbours, strict=True), first):
            others = near[near != itself][:count]
            # float32 sums differ between batches: recompute in float64 and re-sort.
            exact = vectors[others].astype(np.float64) @ vectors[itself].astype(np.float64)
            order = np.lexsort((others, -exact))
            places[row], cosines[row] = others[order], exact[order]
    return places, cosines


def candidate_bags(
    vectors: NDArray[np.float32], pictures: NDArray[np.float32], size: int
) -> list[Bag]:
    """Algorithm 1: a bag for each picture with enough distinct neighbours, in the order of rows.

    `vectors` [n, d]: unit vectors m, which determine the neighbours; `pictures` [n, d']: unit
    vectors of the pictures alone, which determine near duplicates. Raises ValueError for an invalid
    size.
    """
    check_size(size)
    bags: dict[int, Bag] = {}
    rows, count = list(range(len(vectors))), NEIGHBOURS
    while rows:
        places, cosines = nearest(vectors, count, rows)
        again = []
        for row, near, cosine in zip(rows, places, cosines, strict=True):
            members = _distinct(row, near, pictures, size)
            if len(members) == size - 1:
                alpha = float(np.mean(cosine[members]))
                bags[row] = Bag((row, *(int(near[place]) for place in members)), alpha)
            elif count < len(vectors) - 1:
                again.append(row)  # a picture with hundreds of near duplicates: look further
        rows, count = again, count * 8
    return [bags[row] for row in sorted(bags)]


def curated_bags(candidates: Sequence[Bag]) -> list[Bag]:
    """Algorithm 2: bags by descending alpha, skipping those that share a picture with one already
    taken; ties by the smaller query row.

    >>> curated_bags([Bag((0, 1), 0.5), Bag((1, 2), 0.9), Bag((3, 0), 0.5)])
    [Bag(members=(1, 2), alpha=0.9), Bag(members=(3, 0), alpha=0.5)]
    """
    used_pictures: set[int] = set()
    bags = []
    for bag in sorted(candidates, key=lambda bag: (-bag.alpha, bag.members[0])):
        if used_pictures.isdisjoint(bag.members):
            used_pictures.update(bag.members)
            bags.append(bag)
    return bags


def _distinct(
    row: int, near: NDArray[np.int64], pictures: NDArray[np.float32], size: int
) -> list[int]:
    """Indices into `near` of the first pictures that are not near duplicates of any in the bag."""
    members: list[int] = []
    member_pictures = [pictures[row]]
    for index, other in enumerate(near):
        if len(members) == size - 1:
            break
        if max(float(image @ pictures[other]) for image in member_pictures) < NEAR_DUPLICATE:
            members.append(index)
            member_pictures.append(pictures[other])
    return members


def check_size(size: int) -> None:
    """Raises ValueError for a size that no bag may have."""
    if not SMALLEST <= size <= LARGEST:
        raise ValueError(f"A bag holds {SMALLEST} to {LARGEST} pictures, not {size}.")
