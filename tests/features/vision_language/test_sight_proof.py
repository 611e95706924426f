"""How often models of each kind are believed, and how long they stay so."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import combinations, cycle

import pytest
from PIL import Image

from backend.errors import PictureUnseen
from backend.features.vision_language.sight import Example, Look
from backend.features.vision_language.sight_proof import (
    CERTAIN,
    GROUP,
    MOST_LOOKS,
    ROUND,
    LookAt,
    SightWatch,
    chance,
    prove_sight,
)

BLANK = Image.new("RGB", (1, 1))
DATASET = [Example(str(number), BLANK, BLANK) for number in range(MOST_LOOKS)]
#: Log-odds of yes about the own picture, and about the unlike one.
Odds = Callable[[random.Random], tuple[float, float]]


def right(share: float) -> Odds:
    """About so many pictures, by a plain yes or no."""

    def odds(numbers: random.Random) -> tuple[float, float]:
        own, unlike = (9.0 if numbers.random() < share else -9.0 for _ in range(2))
        return own, -unlike

    return odds


def by_text(numbers: random.Random) -> tuple[float, float]:
    z = numbers.gauss(0, 2)
    return z, z + numbers.gauss(0, 0.05)


def seldom_yes(numbers: random.Random) -> tuple[float, float]:
    own, unlike = (9.0 if numbers.random() < 0.3 else -9.0 for _ in range(2))
    return own, unlike


def any_chance(numbers: random.Random) -> tuple[float, float]:
    return numbers.gauss(0, 2), numbers.gauss(0, 2)


def honest(numbers: random.Random) -> tuple[float, float]:
    return 2 + numbers.random(), numbers.random() - 2


def exchanged(numbers: random.Random) -> tuple[float, float]:
    return numbers.random() - 2, 2 + numbers.random()


RANDOM = (right(0.5), seldom_yes, any_chance)


def looking(odds: Odds, seed: int = 0) -> tuple[LookAt, list[int]]:
    """By such a model; the looks that it was asked for."""
    numbers, counts = random.Random(seed), list[int]()

    def look(examples: Sequence[Example]) -> list[Look]:
        counts.append(len(examples))
        return [
            Look(example.text, *odds(numbers), number % 2 == 0)
            for number, example in enumerate(examples)
        ]

    return look, counts


def believed(odds: Odds, seed: int) -> bool:
    try:
        prove_sight(iter(DATASET), looking(odds, seed)[0], "It")
    except PictureUnseen:
        return False
    return True


def test_a_model_without_an_error_is_believed_after_seven_looks() -> None:
    look, counts = looking(honest)
    prove_sight(iter(DATASET), look, "It")
    assert counts == [GROUP]


@pytest.mark.parametrize("odds", RANDOM)
def test_a_model_that_answers_at_random_is_not(odds: Odds) -> None:
    """In one of 1,700 checks it is."""
    assert sum(believed(odds, seed) for seed in range(2000)) <= 5


def test_a_weak_model_that_sees_mostly_is() -> None:
    assert sum(believed(right(0.8), seed) for seed in range(200)) >= 170


def test_chances_are_those_of_a_permutation() -> None:
    """Which half of some answers is about own pictures is a matter of chance."""
    answers = [3.0, 2.5, 1.0, 0.5, -1.0, -2.0, 0.0, -0.5]
    looks = [
        Look("a", own, unlike, True) for own, unlike in zip(answers[:4], answers[4:], strict=True)
    ]
    middle = sum(answers) / len(answers)
    above = sum(a > middle for a in answers[:4])
    halves = list(combinations(answers, 4))
    assert chance(looks) == pytest.approx(
        sum(sum(a > middle for a in half) >= above for half in halves) / len(halves)
    )


@pytest.mark.parametrize(
    ("odds", "fault", "most"),
    [
        (lambda numbers: (0.4, 0.4), "blind", GROUP),
        (by_text, "blind", GROUP),
        (exchanged, "reversed", GROUP),
        (any_chance, "unclear", MOST_LOOKS + GROUP),
    ],
)
def test_what_is_the_matter_is_said(odds: Odds, fault: str, most: int) -> None:
    look, counts = looking(odds)
    with pytest.raises(PictureUnseen) as refused:
        prove_sight(iter(DATASET), look, "It")
    assert refused.value.sight == fault
    assert sum(counts) <= most


def test_an_answer_that_is_kept_by_its_text_is_stale() -> None:
    def look(examples: Sequence[Example]) -> list[Look]:
        looks = []
        for number, _ in enumerate(examples):
            odds = 3.0 if number % 2 == 0 else -3.0
            looks.append(Look("a", odds, odds, number % 2 == 0))
        return looks

    with pytest.raises(PictureUnseen) as refused:
        prove_sight(iter(DATASET), look, "It")
    assert refused.value.sight == "stale"


def test_a_doubtful_dataset_is_replaced_by_drawn_pictures() -> None:
    """Its captions are wrong, or it has few; the watch looks at drawn ones then."""

    def look(examples: Sequence[Example]) -> list[Look]:
        is_drawn = "word" in examples[0].text
        return [Look(e.text, 2.0 if is_drawn else -1.0 + n % 3, -2.0 + n % 3, n % 2 == 0)
                for n, e in enumerate(examples)]  # fmt: skip

    for examples in (DATASET, DATASET[:2], []):
        watch = prove_sight(iter(examples), look, "It")
        assert "word" in next(watch.examples).text


def test_examples_that_were_not_looked_at_come_first_during_the_work() -> None:
    watch = prove_sight(iter(DATASET), looking(honest)[0], "It")
    texts = [next(watch.examples).text for _ in range(MOST_LOOKS)]
    assert texts[0] == str(GROUP)
    assert sorted(texts, key=int) == [example.text for example in DATASET]


def rounds(odds: Odds, share: float, seeds: int = 100) -> tuple[float, float]:
    """In how many rounds a model is believed, and after how many looks."""
    trusted, looks = 0, 0
    for seed in range(seeds):
        look, counts = looking(odds, seed)
        trusted += SightWatch(look, cycle(DATASET), 0.0, share).still_sees()
        looks += sum(counts)
    return trusted / seeds, looks / seeds


def test_what_happens_during_the_work() -> None:
    assert rounds(honest, 0.9) == (1, ROUND)
    assert rounds(right(0.8), 0.62)[0] >= 0.95
    assert rounds(by_text, 0.9) == (0, pytest.approx(ROUND + 1, abs=ROUND))
    assert max(rounds(odds, 0.9)[0] for odds in RANDOM) <= 0.1
    assert rounds(lambda numbers: (0.0, 0.0), 0.4)[1] <= MOST_LOOKS


def test_the_fewest_looks_are_certain() -> None:
    perfect = [Look("a", 1.0, -1.0, True)]
    assert chance(perfect * GROUP) <= CERTAIN < chance(perfect * (GROUP - 1))
    assert math.isclose(chance([Look("a", 0.5, 0.5, True)] * GROUP), 1)
