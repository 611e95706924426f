"""One chance of error from those of the claims."""

import numpy as np
import pytest

from backend.engine.detection.caption_chance import FEWEST, CaptionChance, fit_caption_chance

LENGTHS = (2, 4, 8)


def drawn(count: int, wrong: bool, seed: int) -> list[np.ndarray]:
    """Log-odds of captions on pictures of varying difficulty; one claim of a wrong one is high."""
    rng = np.random.default_rng(seed)
    captions = []
    for number in range(count):
        odds = rng.normal(-2 + rng.normal(), 1, LENGTHS[number % len(LENGTHS)])
        if wrong:
            odds[rng.integers(len(odds))] += 4
        captions.append(odds)
    return captions


def test_the_chance_is_learnt_and_does_not_depend_on_the_number_of_claims() -> None:
    chance = fit_caption_chance(drawn(600, False, 0), drawn(600, True, 1))
    assert chance is not None
    right, wrong = drawn(600, False, 2), drawn(600, True, 3)
    p_right, p_wrong = chance(right), chance(wrong)
    assert np.mean(p_wrong[:, None] > p_right[None, :]) > 0.8
    for start in range(len(LENGTHS)):  # captions of one length each
        part = np.r_[p_right[start::3], p_wrong[start::3]]
        assert part.mean() == pytest.approx(0.5, abs=0.06)


def test_a_claim_that_is_likelier_wrong_never_makes_its_caption_likelier_right() -> None:
    chance = fit_caption_chance(drawn(100, True, 0), drawn(100, False, 1))  # misled
    assert chance is not None
    assert chance.largest >= 0


def test_too_few_captions_teach_nothing() -> None:
    assert fit_caption_chance(drawn(FEWEST - 1, False, 0), drawn(100, True, 1)) is None


def test_it_is_stored_as_it_is() -> None:
    chance = fit_caption_chance(drawn(40, False, 0), drawn(40, True, 1))
    assert chance is not None
    assert CaptionChance.from_json(chance.to_json()) == chance
