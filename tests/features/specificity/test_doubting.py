"""Which evidence makes a phrase doubtful is fitted to phrases that are mostly true or false."""

import json
import random

import pytest

from backend.features.specificity.doubting import (
    DEFAULT,
    LEAST_PHRASES,
    TRUE_DOUBTED,
    Doubt,
    DoubtRule,
    FittedRule,
    fit_rule,
    restore,
)


def evidence(count: int, noise: float, false: bool = False, seed: int = 1) -> list[Doubt]:
    """Evidence from a scorer that is `noise` times as unsure as the default rule expects."""
    rng = random.Random(seed)
    middle = (-0.6, 0.4, 0.2) if false else (0.3, 0.1, 0.0)
    return [
        Doubt(0, 1, rng.gauss(middle[0], 0.2 * noise), rng.gauss(middle[1], 0.1 * noise),
              rng.gauss(middle[2], 0.05 * noise))
        for _ in range(count)
    ]  # fmt: skip


def share_doubted(rule: DoubtRule, doubts: list[Doubt]) -> float:
    return sum(map(rule.doubts, doubts)) / len(doubts)


def test_by_default_any_of_three_signals_makes_a_phrase_doubtful() -> None:
    assert DEFAULT.doubts(Doubt(0, 1, -0.2, 0.0, 0.0))
    assert DEFAULT.doubts(Doubt(0, 1, None, 0.5, 0.0))
    assert DEFAULT.doubts(Doubt(0, 1, 1.0, 0.0, 0.1))
    assert not DEFAULT.doubts(Doubt(0, 1, -0.1, 0.4, 0.05))
    assert not DEFAULT.doubts(Doubt(0, 1, None, 0.0, -1.0))


@pytest.mark.parametrize("noise", [1.0, 2.0, 3.0])
def test_few_true_phrases_are_doubted_however_unsure_the_scorer_is(noise: float) -> None:
    true, false = evidence(200, noise), evidence(200, noise, false=True)
    rule = fit_rule(true, false)
    assert TRUE_DOUBTED / 2 < share_doubted(rule, true) <= TRUE_DOUBTED
    unseen = evidence(2000, noise, seed=2), evidence(2000, noise, false=True, seed=2)
    assert share_doubted(rule, unseen[0]) < 2 * TRUE_DOUBTED
    assert share_doubted(rule, unseen[1]) > 0.6
    if noise > 1:
        assert share_doubted(DEFAULT, unseen[0]) > 0.15
    assert rule.phrases == 400


def test_the_most_doubtful_phrase_has_the_most_evidence() -> None:
    rule = fit_rule(evidence(100, 1.0), evidence(100, 1.0, false=True))
    weak, strong = Doubt(0, 1, -0.3, 0.3, 0.1), Doubt(0, 1, -0.6, 0.5, 0.2)
    assert rule.strength(strong) > rule.strength(weak)
    assert rule.strength(weak) > rule.strength(Doubt(0, 1, None, 0.3, 0.1))


def test_too_few_true_or_false_phrases_keep_the_default_rule() -> None:
    many, few = evidence(200, 3.0), evidence(LEAST_PHRASES - 1, 3.0, false=True)
    assert fit_rule(many, few) == fit_rule(few, many) == fit_rule([], []) == DEFAULT


def test_a_rule_is_stored_as_json() -> None:
    rule = fit_rule(evidence(100, 2.0), evidence(100, 2.0, false=True))
    assert isinstance(rule, FittedRule)
    assert restore(json.loads(json.dumps(rule.to_json(), allow_nan=False))) == rule
