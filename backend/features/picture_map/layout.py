"""A map of pictures: a 2-D t-SNE layout (openTSNE) in which similar pictures are close together.

Vectors are first reduced by PCA, which preserves the neighbourhoods that t-SNE uses and makes them
cheap to compute. For large datasets, a random sample (the landmarks) is laid out, and every other
picture is placed among its most similar landmarks. Nearby pictures on the map are similar;
distances between clusters, and cluster sizes, are not meaningful.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backend.engine import threads
from backend.progress import Progress, no_progress

#: Maximum number of pictures laid out by t-SNE; the others are placed among them.
LANDMARKS = 30_000
#: t-SNE's perplexity, the effective number of neighbours.
_PERPLEXITY = 30
#: With fewer pictures, the first two principal components are used instead of t-SNE.
FEWEST = 20
_COMPONENTS = 50
#: Number of nearest landmarks that determine another picture's place.
_BETWEEN = 5
#: t-SNE iterations with early exaggeration, and after it (as published).
_EARLY, _LATE = 250, 500
#: From this many pictures on, FFT interpolation is faster and multithreading pays off.
_LARGE = 10_000
_ROWS = 4096
#: Margin around the map, as a fraction of its side.
_MARGIN = 0.02

#: Returns the vectors [rows, d] of the given rows of the dataset.
Read = Callable[[NDArray[np.int64]], NDArray[np.float32]]


def layout(
    count: int, read_vectors: Read, progress: Progress = no_progress, landmarks: int = LANDMARKS
) -> NDArray[np.float64]:
    """Positions [count, 2] in the unit square. The same vectors give approximately the same map.

    `read_vectors`: returns unit vectors [rows, d] of rows; at most `landmarks` are in memory.
    """
    if count < 2:
        return np.full((count, 2), 0.5)
    landmark_rows = np.arange(count)
    if count > landmarks:
        landmark_rows = np.sort(np.random.default_rng(0).choice(count, landmarks, replace=False))
    vectors = read_vectors(landmark_rows)
    projections, project = _components(vectors)
    del vectors
    total = _EARLY + _LATE + (count if count > landmarks else 0)
    progress(0, total, "Drawing the map")
    places = _laid_out(projections, lambda done: progress(done, total, "Drawing the map"))
    if count > landmarks:
        positions = np.zeros((count, 2))
        positions[landmark_rows] = places
        others = np.setdiff1d(np.arange(count), landmark_rows)
        index = _index(projections)
        for first in range(0, len(others), _ROWS):
            rows = others[first : first + _ROWS]
            _, near = index.search(project(read_vectors(rows)), _BETWEEN)
            positions[rows] = np.median(places[near], axis=1)
            done = _EARLY + _LATE + landmarks + first + len(rows)
            progress(done, total, "Placing the other pictures")
        places = positions
    return _in_square(places)


def _components(
    vectors: NDArray[np.float32],
) -> tuple[NDArray[np.float32], Callable[[NDArray[np.float32]], NDArray[np.float32]]]:
    """Principal components [n, c] of the vectors, and the projection function for other vectors."""
    from sklearn.decomposition import PCA

    width = min(_COMPONENTS, *vectors.shape)
    model = PCA(width, svd_solver="randomized" if width < min(vectors.shape) else "full",
                random_state=0)  # fmt: skip

    def project(others: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.ascontiguousarray(model.transform(others), np.float32)

    with np.errstate(invalid="ignore"):  # copies of one picture have no variance
        model.fit(vectors)
    return project(vectors), project


def _laid_out(projections: NDArray[np.float32], tick: Callable[[int], None]) -> NDArray[np.float64]:
    """Positions [n, 2] at any scale."""
    spread = float(projections[:, 0].std())
    if len(projections) < FEWEST or spread < 1e-9:
        flat = np.zeros((len(projections), 2))
        flat[:, : projections.shape[1]] = projections[:, :2]
        return flat
    from openTSNE import TSNEEmbedding, affinity
    from openTSNE.nearest_neighbors import PrecomputedNeighbors

    is_large = len(projections) >= _LARGE
    jobs = threads.cores() if is_large else 1
    perplexity = min(_PERPLEXITY, (len(projections) - 1) / 3)
    near, distances = _neighbours(projections, int(3 * perplexity))
    affinities = affinity.PerplexityBasedNN(
        knn_index=PrecomputedNeighbors(near, distances), perplexity=perplexity, n_jobs=jobs
    )
    start = np.zeros((len(projections), 2))
    start[:, : projections.shape[1]] = projections[:, :2]
    embedding: Any = TSNEEmbedding(
        start / spread * 1e-4, affinities, n_jobs=jobs, random_state=0,
        negative_gradient_method="fft" if is_large else "bh",
    )  # fmt: skip

    def optimise(steps: int, before: int, **how: float) -> Any:
        return embedding.optimize(
            steps, **how, callbacks_every_iters=10,
            callbacks=lambda step, error, places: tick(before + step),
        )  # fmt: skip

    embedding = optimise(_EARLY, 0, exaggeration=12, momentum=0.5)
    embedding = optimise(_LATE, _EARLY, momentum=0.8)
    return np.asarray(embedding, np.float64)


def _index(projections: NDArray[np.float32]) -> Any:
    import faiss

    index = faiss.IndexFlatL2(projections.shape[1])
    index.add(projections)
    return index


def _neighbours(
    projections: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The nearest other rows of each row, and their distances [n, count]."""
    index = _index(projections)
    near = np.zeros((len(projections), count), np.int64)
    distances = np.zeros((len(projections), count))
    for first in range(0, len(projections), _ROWS):
        squares, rows = index.search(projections[first : first + _ROWS], count + 1)
        # Among duplicates a row need not be its own nearest: move it to the end, then drop it.
        itself = rows == np.arange(first, first + len(rows))[:, None]
        order = np.argsort(itself, axis=1, kind="stable")[:, :count]
        near[first : first + len(rows)] = np.take_along_axis(rows, order, 1)
        distances[first : first + len(rows)] = np.sqrt(
            np.maximum(np.take_along_axis(squares, order, 1), 0)
        )
    return near, distances


def _in_square(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions shifted and uniformly scaled into the unit square."""
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max()) or 1.0
    return 0.5 + (places - (low + high) / 2) / side * (1 - 2 * _MARGIN)
