"""Planted patterns are found, and what is none stays below the stated rate."""

import random

import pytest

from backend.features.patterns.error_patterns import JudgedCaption, find_patterns

THINGS = ["dog", "cat", "horse", "bus", "boat", "tree", "lamp", "house", "kite", "bear"]
ACTIONS = ["sleeping", "standing", "waiting", "smiling"]
COLOURS = ["red", "blue", "green", "yellow"]


def captions(seed: int, count: int, planted: dict[str, float], base: float) -> list[JudgedCaption]:
    """`planted`: a word, and how often a caption with it is wrong."""
    rng = random.Random(seed)
    judged = []
    for _ in range(count):
        text = f"A {rng.choice(COLOURS)} {rng.choice(THINGS)} is {rng.choice(ACTIONS)} outside"
        chance = max([base, *(p for word, p in planted.items() if word in text.split())])
        judged.append(JudgedCaption(text, rng.random() < chance))
    return judged


def test_a_planted_word_is_found_once_with_its_interval() -> None:
    judged = captions(1, 200, {"smiling": 0.7}, 0.08)
    (pattern,), tested = find_patterns(judged)
    assert (pattern.kind, pattern.name) == ("word", "smiling")
    having = [each for each in judged if "smiling" in each.caption]
    assert pattern.captions == len(having)
    assert pattern.wrong == sum(each.is_wrong for each in having)
    assert pattern.low < pattern.share < pattern.high
    assert pattern.elsewhere < 0.15
    assert pattern.p <= pattern.q <= 0.1
    assert pattern.others == 200 - len(having)
    assert tested > 20


def test_without_a_pattern_few_runs_name_one() -> None:
    runs = [find_patterns(captions(seed, 150, {}, 0.3))[0] for seed in range(40)]
    assert sum(bool(patterns) for patterns in runs) <= 6  # a tenth of 40, and chance


def test_two_planted_words_are_both_found_and_little_else() -> None:
    names = []
    for seed in range(10):
        judged = captions(seed, 400, {"smiling": 0.6, "kite": 0.7}, 0.08)
        names += [pattern.name for pattern in find_patterns(judged)[0]]
    assert names.count("smiling") >= 9
    assert names.count("kite") >= 9
    assert len(names) - names.count("smiling") - names.count("kite") <= 4


def test_a_writer_is_compared_with_himself() -> None:
    """One writer is wrong everywhere and likes *sleeping*: that is not the word's fault."""
    rng = random.Random(2)
    judged = []
    for writer, chance, word in (("bad", 0.6, "sleeping"), ("good", 0.05, "standing")):
        for _ in range(100):
            action = word if rng.random() < 0.7 else "waiting"
            text = f"A {rng.choice(THINGS)} is {action}"
            judged.append(JudgedCaption(text, rng.random() < chance, writer=writer))
    assert find_patterns(judged)[0] == []
    together = [JudgedCaption(each.caption, each.is_wrong) for each in judged]
    assert "sleeping" in [pattern.name for pattern in find_patterns(together)[0]]


def test_a_correction_shows_which_word_was_wrong() -> None:
    """Every caption with *kite* is wrong, but the colour was: *kite* alone is not to blame."""
    judged = []
    for n in range(120):
        thing = "kite" if n % 4 == 0 else THINGS[n % 8]
        text = f"A red {thing} outside" if n % 2 else f"A blue {thing} outside"
        is_wrong = n % 4 == 0
        judged.append(JudgedCaption(text, is_wrong, frozenset({(2, 6)} if is_wrong else ())))
    names = {pattern.name for pattern in find_patterns(judged)[0]}
    assert "kite" not in names
    assert "blue kite" in names


def test_a_position_is_compared_with_its_share_of_the_words() -> None:
    text = "one two six four five ten"
    late = frozenset({(text.index("ten"), len(text))})
    judged = [JudgedCaption(text, n % 2 == 0, late if n % 2 == 0 else frozenset())
              for n in range(40)]  # fmt: skip
    (pattern,) = [each for each in find_patterns(judged)[0] if each.kind == "position"]
    assert (pattern.name, pattern.captions, pattern.wrong) == ("last third", 20, 20)
    assert pattern.elsewhere == pytest.approx(1 / 3)


def test_rare_words_and_nothing_at_all_are_not_tested() -> None:
    assert find_patterns([]) == ([], 0)
    judged = [JudgedCaption("A dog", n == 0) for n in range(4)]
    assert find_patterns(judged) == ([], 0)
