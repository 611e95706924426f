"""Vectors on disk and in memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from backend.jobs.scoring.vectors import VectorFile
from backend.review.search import (
    Nearest,
    PairSearch,
    SimilarityKind,
    add_kind,
    similarity_kinds,
)
from tests.fixtures.sizes import Sizes


def unit(count: int, width: int = 8, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).normal(size=(count, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_appended_vectors_are_read_and_the_newest_of_a_pair_counts(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "new folder" / "v", 8)
    assert len(file.read()[0]) == 0
    vectors = unit(5)
    file.append([3, 1], vectors[:2])
    file.append([2, 1], vectors[2:4])
    pairs, result = file.read()
    assert pairs.tolist() == [1, 2, 3]
    np.testing.assert_allclose(result, vectors[[3, 2, 0]], atol=1e-3)


def test_a_truncated_last_record_is_dropped(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "v", 8)
    file.append([1, 2], unit(2))
    whole = (tmp_path / "v").read_bytes()
    (tmp_path / "v").write_bytes(whole[:-5])
    assert file.read()[0].tolist() == [1]
    file.append([7], unit(1, seed=3))
    assert file.read()[0].tolist() == [1, 7]


@pytest.mark.parametrize("exact_up_to", [20_000, 50])
def test_the_nearest_match_a_brute_force_search(
    tmp_path: Path, exact_up_to: int, sizes: Sizes
) -> None:
    sizes(_EXACT_UP_TO=exact_up_to)
    vectors = unit(400)
    VectorFile(tmp_path / "v", 8).append(range(1000, 1400), vectors)
    index = Nearest(tmp_path / "v", 8)
    result = index.of(vectors[17], 10)
    plain = np.argsort(-(vectors @ vectors[17]), kind="stable")[:10]
    assert result[0][0] == 1017
    assert len({pair for pair, _ in result} & {1000 + int(row) for row in plain}) >= 9
    assert result[0][1] == pytest.approx(1, abs=0.02)
    its_own = index.vector(1017)
    assert its_own is not None
    np.testing.assert_allclose(its_own, vectors[17], atol=0.02)
    assert index.vector(5) is None


def test_an_index_sees_vectors_that_are_added_later(tmp_path: Path) -> None:
    index = Nearest(tmp_path / "v", 8)
    assert len(index) == 0
    assert index.of(unit(1)[0], 3) == []
    VectorFile(tmp_path / "v", 8).append([4], unit(1))
    assert [pair for pair, _ in index.of(unit(1)[0], 3)] == [4]


@pytest.mark.parametrize("change", [{"name": "image"}, {"action": "same-caption"}])
def test_a_kind_of_likeness_takes_nobody_s_place(change: dict[str, Any]) -> None:
    kinds = dict(similarity_kinds())
    added = SimilarityKind("twin", PairSearch.nearest_pictures, "twins of {}", "twins")
    with pytest.raises(ValueError, match="already"):
        add_kind(kinds, replace(added, **change))
    assert kinds == similarity_kinds()
    add_kind(kinds, added)
    assert kinds["twin"] is added
