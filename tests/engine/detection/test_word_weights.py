"""Weights of the signs of suspect words, fitted to errors with known positions."""

from dataclasses import replace

import numpy as np

from backend.engine.detection.localisation import DEFAULT, WordWeights, word_scores, word_signs
from backend.engine.detection.word_weights import (
    FEWEST,
    FEWEST_MARKED,
    MarkedWords,
    changed_words,
    fit_word_weights,
    learn_word_weights,
)
from backend.engine.expectation import Expectation
from backend.engine.trajectories.trajectory import AuxiliaryScores, Trajectory
from tests.engine.detection.made_trajectories import trajectory

TEXT = "A red dog near a blue cat in the park"


#: Captions, and the characters of their changed words.
Made = tuple[list[Trajectory], list[list[tuple[int, int]]]]


def made(count: int, seed: int) -> Made:
    """Captions in which deletions point at random words and the captioner at the changed word."""
    rng = np.random.default_rng(seed)
    trajectories, changed = [], []
    for _ in range(count):
        plain = trajectory(TEXT, rng.normal(size=10).tolist(), 0.5)
        place = int(rng.choice([1, 2, 3, 5, 6, 9]))
        log_p = rng.uniform(-1.5, 0, 10).astype(np.float32)
        log_p[place] = -4.0
        auxiliary = AuxiliaryScores(
            plain.scores, (plain.scores[0] + rng.normal(size=10)).astype(np.float32)
        )
        trajectories.append(
            replace(plain, auxiliary=auxiliary, expectation=Expectation(log_p, -log_p))
        )
        changed.append([plain.caption.spans[place]])
    return trajectories, changed


def hits(weights: WordWeights, examples: Made) -> float:
    """The share of captions whose most suspect word is a changed one."""
    return float(
        np.mean(
            [
                changed_words(sample.caption, spans, 10)[word_scores(sample, weights).argmax()]
                for sample, spans in zip(*examples, strict=True)
            ]
        )
    )


def test_the_informative_sign_gets_the_weight() -> None:
    weights = fit_word_weights(*made(200, 1))
    assert weights is not None
    others = (weights.gain, weights.order, weights.peak, weights.auxiliary_gain)
    assert weights.surprise > 3 * max(others)
    assert min(others) >= 0, "no sign is reversed"
    fresh = made(200, 2)
    assert hits(weights, fresh) > hits(DEFAULT, fresh) + 0.05
    assert WordWeights.from_json(weights.to_json()) == weights


def test_too_few_or_unknown_positions_give_no_weights() -> None:
    trajectories, changed = made(FEWEST - 1, 1)
    assert fit_word_weights(trajectories, changed) is None
    many, _ = made(2 * FEWEST, 1)
    assert fit_word_weights(many, [[]] * len(many)) is None
    assert fit_word_weights(many, [[(0, len(TEXT))]] * len(many)) is None


def test_signs_lie_between_0_and_1_and_missing_ones_are_marked() -> None:
    (first, *_), _ = made(1, 3)
    signs, known = word_signs(first)
    assert signs.shape == (10, 5)
    assert signs.min() >= 0
    assert signs.max() == 1
    assert known.tolist() == [True] * 5
    assert word_signs(replace(first, auxiliary=None, expectation=None))[1].tolist() == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_a_captioner_may_read_fewer_words_than_the_scorer() -> None:
    (first, *_), _ = made(1, 3)
    assert first.expectation is not None
    short = Expectation(first.expectation.log_p[:3], first.expectation.distance[:3])
    nothing = Expectation(first.expectation.log_p[:0], first.expectation.distance[:0])
    assert len(word_scores(replace(first, expectation=short))) == 10
    assert np.isfinite(word_scores(replace(first, expectation=nothing))).all()


def test_marks_on_captions_drawn_at_random_mend_weights_and_others_leave_them() -> None:
    misled = WordWeights(surprise=0.1)
    marked = [
        words for each, spans in zip(*made(60, 3), strict=True)
        if (words := MarkedWords.of(each, spans)) is not None
    ]  # fmt: skip
    learnt = learn_word_weights(misled, marked, [True] * len(marked))
    assert learnt.is_better
    assert learnt.hits_after > learnt.hits_before
    fresh = made(200, 4)
    assert hits(learnt.weights, fresh) > hits(misled, fresh) + 0.1
    for few, drawn in ((marked, False), (marked[: FEWEST_MARKED - 1], True)):
        assert learn_word_weights(misled, few, [drawn] * len(few)).weights == misled


def test_weights_that_are_right_stay() -> None:
    right = fit_word_weights(*made(200, 1))
    assert right is not None
    marked = [MarkedWords.of(each, spans) for each, spans in zip(*made(60, 5), strict=True)]
    learnt = learn_word_weights(right, [m for m in marked if m is not None], [True] * len(marked))
    assert learnt.weights == right
    assert not learnt.report()["words_learnt"]
