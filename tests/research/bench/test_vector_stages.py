"""Every stage that the bench names runs over the vectors that it generates."""

import numpy as np

from research.bench.vector_stages import _vectors, bench_vectors


def test_every_stage_runs_and_is_reported() -> None:
    report = bench_vectors(200, width=32)
    assert [cost.stage for cost in report.costs] == ["specificity", "near duplicates", "map"]
    assert all(cost.processor_seconds > 0 and cost.peak_mebibytes > 50 for cost in report.costs)
    assert "near duplicates" in report.table()


def test_vectors_lie_in_clusters_and_some_are_copies() -> None:
    (vectors,) = _vectors(500, 64, seed=0)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    likeness = vectors @ vectors.T - np.eye(500)
    nearest = likeness.max(1)
    assert (nearest > 0.98).sum() == 20, "ten copies and the ten that they are copies of"
    assert 0.5 < np.median(nearest) < 0.95
