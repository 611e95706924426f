"""The check of a share of errors: how often it is wrong, and how many verdicts it takes."""

import random

import pytest

from backend.features.quality_gate.acceptance import Sample, more_to_draw, outcome_of

PAIRS, ALLOWED, CONFIDENCE = 5000, 100, 0.95
SIMULATED = 400


def checked(wrong: int, seed: int) -> tuple[str, Sample]:
    """Check, draw as many pairs as it asks for, and check again until the answer is clear."""
    rng = random.Random(seed)
    order = rng.sample(range(PAIRS), PAIRS)  # the first `wrong` pairs are errors
    drawn = 0
    while True:
        sample = Sample(PAIRS, drawn, sum(pair < wrong for pair in order[:drawn]))
        outcome = outcome_of(sample, ALLOWED, CONFIDENCE)
        if outcome != "undecided":
            return outcome, sample
        drawn += more_to_draw(sample, ALLOWED, CONFIDENCE)


@pytest.mark.parametrize("share", [0.005, 0.01, 0.019, 0.021, 0.03, 0.05])
def test_answers_are_wrong_as_seldom_as_promised_however_often_one_looks(share: float) -> None:
    wrong = round(share * PAIRS)
    right_answer = "passed" if wrong <= ALLOWED else "failed"
    answers = [checked(wrong, seed) for seed in range(SIMULATED)]
    mistakes = sum(outcome != right_answer for outcome, _ in answers)
    assert mistakes <= (1 - CONFIDENCE) * SIMULATED
    intervals = [sample.interval(CONFIDENCE) for _, sample in answers]
    covered = sum(low <= wrong <= high for low, high in intervals)
    assert covered >= CONFIDENCE * SIMULATED


def test_a_clean_dataset_needs_little_more_than_a_fixed_sample() -> None:
    # 148 right answers without an error show at most 2 % with 95 % confidence.
    assert 148 <= more_to_draw(Sample(100_000, 0, 0), 2000, 0.95) <= 1.3 * 148


@pytest.mark.parametrize(
    ("sample", "allowed", "outcome"),
    [
        (Sample(100, 100, 2), 2, "passed"),
        (Sample(100, 100, 3), 2, "failed"),
        (Sample(100, 3, 3), 2, "failed"),
        (Sample(100, 99, 2), 2, "undecided"),
        (Sample(100, 99, 1), 2, "passed"),
        (Sample(0, 0, 0), 0, "passed"),
        (Sample(0, 0, 0), -1, "failed"),
        (Sample(100, 0, 0), 0, "undecided"),
        (Sample(100, 50, 0), 0, "undecided"),
        (Sample(1, 0, 0), 1, "passed"),
    ],
)
def test_what_is_known_for_certain_is_said(sample: Sample, allowed: int, outcome: str) -> None:
    assert outcome_of(sample, allowed, 0.95) == outcome


def test_no_error_at_all_is_allowed_only_where_nearly_all_pairs_are_right() -> None:
    sample = Sample(40, 0, 0)
    assert 38 <= more_to_draw(sample, 0, 0.95) <= 40
    assert sample.interval(0.95) == (0, 40)
