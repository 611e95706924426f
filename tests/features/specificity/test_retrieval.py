"""Whether a caption retrieves its picture: ties, intervals, and the chance level."""

import math

import numpy as np
import pytest

from backend.engine.unit_vectors import unit
from backend.features.specificity.retrieval import TIE, retrieve
from research.bags_and_recall import Recall, is_hit, recall_among_random, recall_at_1, wilson


def vectors(count: int, width: int = 16, seed: int = 0) -> np.ndarray:
    return unit(np.random.default_rng(seed).normal(size=(count, width)))


def test_specificity_is_the_log_softmax_of_the_captions_own_picture() -> None:
    own_score, others, scale = 0.3, [0.28, 0.31, 0.2], 20.0
    retrieval = retrieve(own_score, others, scale)
    shares = [math.exp(scale * s) for s in (own_score, *others)]
    assert retrieval.specificity == pytest.approx(math.log(shares[0] / sum(shares)))
    assert (retrieval.rank, retrieval.of, retrieval.better) == (2, 4, (1,))


def test_specificity_stays_finite_at_any_scale_and_without_neighbours() -> None:
    assert retrieve(-1.0, [1.0], 1e4).specificity == pytest.approx(-2e4)
    assert retrieve(0.2, [], 100.0).specificity == 0.0
    assert retrieve(0.2, [], 100.0).rank == 1


def test_a_tie_does_not_count_as_a_hit() -> None:
    assert is_hit(0.5, [0.49])
    assert not is_hit(0.5, [0.5])
    assert not is_hit(0.5, [0.5 - TIE / 2])
    assert retrieve(0.5, [0.5, 0.4], 1.0).rank == 2


def test_recall_is_over_captions_not_over_bags() -> None:
    pictures = np.eye(3, dtype=np.float32)
    captions = np.array([[1, 0, 0], [1, 0, 0], [1, 0, 0], [0.6, 0.8, 0], [0, 0.8, 0.6]], np.float32)
    recall = recall_at_1([(0, 1)], pictures, captions, [0, 0, 0, 1, 1])
    assert recall == Recall(5, 5)
    captions[3] = [0.8, 0.6, 0]
    assert recall_at_1([(0, 1)], pictures, captions, [0, 0, 0, 1, 1]) == Recall(4, 5)


def test_recall_among_random_pictures_is_determined_by_the_seed() -> None:
    pictures = vectors(300)
    captions = unit(pictures + 0.2 * vectors(300, seed=2))
    recall = recall_among_random(pictures, captions, range(300), seed=3)
    assert recall == recall_among_random(pictures, captions, range(300), seed=3)
    assert recall.captions == 300
    assert 0.3 < recall.share <= 1
    alone = recall_among_random(pictures[:1], captions[:1], [0])
    assert alone == Recall(1, 1)  # nothing to be mistaken for


def test_wilson_intervals() -> None:
    low, high = wilson(8, 10)
    assert (low, high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 0) == (0.0, 1.0)
    assert Recall(8, 10).interval == (low, high)
    assert math.isnan(Recall(0, 0).share)
