"""Arrangements of emoji: their captions, and what is wrong with the false ones."""

import random
from collections import Counter
from pathlib import Path

import pytest

from research.emoji.arrangement import (
    KINDS,
    OPPOSITE,
    Arrangement,
    Arrangements,
    boxes,
    countable,
    counted,
)
from research.emoji.sets import EmojiSets
from tests.research.emoji.few_emoji import write_sets


@pytest.fixture
def few(tmp_path: Path) -> Arrangements:
    return Arrangements(EmojiSets(write_sets(tmp_path)).emoji)


def test_numbers_precede_the_plural_of_simple_names() -> None:
    assert counted("cat face", 3) == "three cat faces"
    assert counted("cook: dark skin tone", 2) == "two cooks: dark skin tone"
    assert countable("flag: Peru")
    assert not countable("person in lotus position")
    assert not countable("glasses")


def test_every_kind_of_error_makes_the_caption_false(few: Arrangements) -> None:
    rng = random.Random(0)
    seen: Counter[str] = Counter()
    for _ in range(400):
        truth = few.draw(rng)
        wrong = few.spoil(truth, rng)
        if wrong is not None:
            seen[wrong.kind] += 1
            captions = {few.retold(truth, rng).caption for _ in range(20)}
            assert wrong.caption not in {truth.caption, *captions}
    assert {"skin tone", "gender", "colour", "flag", "noun", "count", "relation"} <= set(seen)
    assert set(seen) <= set(KINDS)


def test_neighbours_differ_in_a_single_word(few: Arrangements) -> None:
    by_name = {emoji.name: emoji for emoji in few.emoji}
    cook = few.neighbours(by_name["man cook: dark skin tone"])
    assert [other.name for other in cook["gender"]] == ["woman cook: dark skin tone"]
    assert [other.name for other in cook["skin tone"]] == ["man cook: light skin tone"]
    assert [other.name for other in few.neighbours(by_name["flag: Peru"])["flag"]] == ["flag: Togo"]
    assert few.neighbours(by_name["pizza"]) == {}  # the only single word of its subgroup


def test_naming_the_other_emoji_first_inverts_the_relation(few: Arrangements) -> None:
    cat, heart = few.emoji[0], few.emoji[2]
    truth = Arrangement((cat, heart), 1, "above", "above")
    captions = {few.retold(truth, random.Random(k)).caption for k in range(30)}
    assert captions == {
        "cat face above red heart", "red heart below cat face", "cat face and red heart",
        "red heart and cat face",
    }  # fmt: skip
    assert all(OPPOSITE[OPPOSITE[relation]] == relation for relation in OPPOSITE)


@pytest.mark.parametrize("relation", list(OPPOSITE))
def test_emoji_are_where_the_caption_says(few: Arrangements, relation: str) -> None:
    truth = Arrangement(tuple(few.emoji[:2]), 1, relation, relation)
    (x, y, *_), (u, v, *_) = boxes(truth, random.Random(1))
    is_true = {"to the left of": x < u, "to the right of": x > u, "above": y < v, "below": y > v}
    assert is_true[relation]


def test_each_copy_has_a_place_inside_the_picture(few: Arrangements) -> None:
    for count in (1, 2, 3, 4):
        places = boxes(Arrangement((few.emoji[0],), count), random.Random(count))
        assert len(set(places)) == count
        assert all(0 <= edge <= 1 for place in places for edge in place)
