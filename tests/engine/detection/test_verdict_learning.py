"""A cold start updated by verdicts: what it learns, from whom, and when it does not."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from backend.engine.detection.classifier import Calibration, Classifier
from backend.engine.detection.families import Linear
from backend.engine.detection.features import CAPTIONER_WORD_COUNT, NAMES
from backend.engine.detection.verdict_learning import (
    InUse,
    JudgedPairs,
    LearntClassifier,
    compare,
    fit_update,
    learn,
)
from backend.engine.detection.verdict_update import Scale, VerdictUpdate, log_odds
from backend.errors import TrainingError
from backend.learning_texts import FEWEST_FOR_LEVEL

PAIRS = 400
S, LENGTH = NAMES.index("log-odds of s_0"), NAMES.index("words")
#: Errors are those with a low s and, which the prior does not know, short captions.
PRIOR = Classifier(
    Linear("s_0 alone", (S,), 1.0, (), (0.0,), (1.0,), (-1.0,), -1.0),
    Calibration(),
    first_step=True,
)


class World:
    """Pairs whose errors depend on s and, `hidden` strong, on the caption's length."""

    def __init__(self, hidden: float = 2.0, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.features = np.zeros((PAIRS, len(NAMES)))
        self.features[:, S], self.features[:, LENGTH] = rng.normal(size=(2, PAIRS))
        odds = -self.features[:, S] - hidden * self.features[:, LENGTH]
        self.wrong = rng.random(PAIRS) < 1 / (1 + np.exp(-odds))
        self.p_prior = PRIOR.predict(self.features)
        self.ranked = np.argsort(-self.p_prior)
        self.shuffled = rng.permutation(PAIRS)

    def judged(self, rows: Sequence[int], at_random: Sequence[int] = ()) -> JudgedPairs:
        labels = np.full(PAIRS, -1)
        labels[[*rows, *at_random]] = self.wrong[[*rows, *at_random]]
        is_random = np.isin(np.arange(PAIRS), at_random)
        zeros = np.zeros(PAIRS)
        return JudgedPairs(
            self.features, self.p_prior, labels, is_random, list(range(PAIRS)), zeros,
            np.ones(PAIRS, np.bool_),
        )  # fmt: skip

    def learn(self, pairs: JudgedPairs, in_use: InUse | None = None) -> LearntClassifier:
        unseen = np.zeros(PAIRS, np.bool_)
        return learn(PRIOR, in_use or InUse(PRIOR, self.p_prior, unseen), pairs)

    def auc_of_rest(self, pairs: JudgedPairs, p_error: NDArray[np.float64]) -> float:
        rest = ~pairs.is_judged
        return float(roc_auc_score(self.wrong[rest], p_error[rest]))


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def test_pairs_drawn_at_random_teach_order_and_level(world: World) -> None:
    pairs = world.judged([], world.shuffled[:100].tolist())
    learnt = world.learn(pairs)
    p_error, rest = learnt.classifier.predict(world.features), ~pairs.is_judged
    assert learnt.report["learnt"] == "order"
    assert learnt.report["level_is_known"]
    before = world.auc_of_rest(pairs, world.p_prior)
    assert world.auc_of_rest(pairs, p_error) > before + 0.05
    assert abs(p_error[rest].mean() - world.wrong[rest].mean()) < 0.06
    assert learnt.report["errors_first_after"] > learnt.report["errors_first_before"]


def test_without_pairs_drawn_at_random_the_order_stays(world: World) -> None:
    pairs = world.judged(world.ranked[:100].tolist())
    learnt = world.learn(pairs)
    p_error = learnt.classifier.predict(world.features)
    assert learnt.report["learnt"] == "level"
    assert not learnt.report["level_is_known"]
    assert np.argsort(-p_error).tolist() == world.ranked.tolist()


def test_few_pairs_drawn_at_random_leave_the_level_unknown(world: World) -> None:
    fewer, enough = (
        world.learn(world.judged([], world.shuffled[:count].tolist())).report["level_is_known"]
        for count in (FEWEST_FOR_LEVEL - 1, FEWEST_FOR_LEVEL)
    )
    assert (fewer, enough) == (False, True)


def test_a_worse_order_is_not_used(world: World) -> None:
    """The classifier in use knows what the verdicts barely show."""
    update = VerdictUpdate(weights=(0.0, -2.0), scale=Scale((S, LENGTH), (0, 0), (1, 1)))
    best = replace(PRIOR, update=update)
    in_use = InUse(best, np.where(world.wrong, 0.9, 0.1), np.zeros(PAIRS, np.bool_))
    learnt = world.learn(world.judged([], world.shuffled[:40].tolist()), in_use)
    assert learnt.report["learnt"] == "level"
    assert learnt.report["errors_first_after"] < learnt.report["errors_first_before"]
    before, after = (c.predict(world.features) for c in (best, learnt.classifier))
    assert np.argsort(before, kind="stable").tolist() == np.argsort(after, kind="stable").tolist()


def test_nothing_is_learnt_where_there_is_nothing_to_learn() -> None:
    changes = []
    for seed in range(5):
        world = World(hidden=0.0, seed=seed)
        pairs = world.judged([], world.shuffled[:100].tolist())
        after = world.learn(pairs).classifier.predict(world.features)
        changes.append(world.auc_of_rest(pairs, after) - world.auc_of_rest(pairs, world.p_prior))
    assert np.mean(changes) > -0.005
    assert min(changes) > -0.02


def test_the_head_of_the_queue_counts_less_once_it_is_judged(world: World) -> None:
    """Where no pair is left open, a verdict has nothing to teach."""
    drawn = world.shuffled[:60].tolist()
    head = [int(row) for row in world.ranked[:200] if row not in drawn]
    flipped = replace(pairs := world.judged(head, drawn), labels=pairs.labels.copy())
    flipped.labels[world.ranked[:20]] = 1 - flipped.labels[world.ranked[:20]]
    odds = [
        log_odds(fit_update(some, some.is_judged)(world.p_prior, world.features))
        for some in (pairs, flipped)
    ]
    rest = ~pairs.is_judged
    assert np.corrcoef(odds[0][rest], odds[1][rest])[0, 1] > 0.99


def test_verdicts_of_one_kind_move_the_level_alone(world: World) -> None:
    right = np.flatnonzero(~world.wrong)[:40].tolist()
    learnt = world.learn(world.judged([], right))
    assert learnt.report["learnt"] == "level"
    assert learnt.classifier.predict(world.features).mean() < world.p_prior.mean()


def test_too_few_verdicts_are_refused_with_the_number_missing(world: World) -> None:
    with pytest.raises(TrainingError, match="Decide 3 more pairs"):
        world.learn(world.judged([], [0, 1]))


def test_a_second_opinion_is_weighed_by_the_verdicts(world: World) -> None:
    pairs = world.judged([], world.shuffled[:100].tolist())
    agreeing = replace(pairs, opinions=np.where(world.wrong, -1.0, 1.0))
    assert world.learn(pairs).classifier.opinion_weight == 1.0
    assert world.learn(agreeing).classifier.opinion_weight > 1.5


def test_the_same_verdicts_teach_the_same_and_a_stored_classifier_knows_it(world: World) -> None:
    pairs = world.judged([], world.shuffled[:100].tolist())
    first, again = (world.learn(pairs).classifier for _ in range(2))
    stored = Classifier.from_bytes(first.to_bytes())
    assert first.to_bytes() == again.to_bytes() == stored.to_bytes()
    expected = first.predict(world.features)
    np.testing.assert_array_equal(stored.predict(world.features), expected)


def test_captions_that_no_captioner_has_read_count_as_average_ones() -> None:
    features = np.zeros((4, len(NAMES)))
    column, heard = NAMES.index("captioner: mean log p"), NAMES.index(CAPTIONER_WORD_COUNT)
    features[:2, heard], features[:2, column] = 5, (-3, -1)
    scale = Scale.of(features)
    assert column in scale.columns
    values = scale(features)[:, scale.columns.index(column)]
    assert values.tolist() == [-1, 1, 0, 0]


def test_the_order_of_held_out_pairs_is_compared_with_an_interval() -> None:
    labels = np.array([1, 1, 0, 0, 0, 0])
    good, bad = np.array([6.0, 5, 4, 3, 2, 1]), np.array([1.0, 6, 5, 4, 3, 2])
    better = compare(bad, good, labels, np.ones(6))
    assert (better.before, better.after, better.pairs, better.wrong) == (1, 2, 6, 2)
    assert better.low <= 1 <= better.high
    assert (better.auc_before, better.auc_after) == (0.5, 1.0)
    assert not better.is_no_worse, "two wrong pairs tell too little"
    many = np.tile(labels, 20)
    assert compare(np.tile(bad, 20), np.tile(good, 20), many, np.ones(120)).is_no_worse
    assert not compare(np.tile(good, 20), np.tile(bad, 20), many, np.ones(120)).is_no_worse
    assert not compare(good, good, np.zeros(6, np.int64), np.ones(6)).is_no_worse
    # Weights: only what resembles open pairs counts.
    weights = np.array([0.0, 1, 1, 1, 1, 1])
    assert compare(bad, good, labels, weights).auc_before == pytest.approx(1.0)
