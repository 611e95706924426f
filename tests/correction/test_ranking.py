"""Which correction is offered first: what gains most for the words that it costs."""

import pytest

from backend.captions import Caption
from backend.correction.judge import _ranked, share_lost

WRONG = Caption.parse("A red dog on a beach by the sea.")
EDIT = "A brown dog on a beach by the sea."
ANEW = "Two boats on a lake."


def first(*offered: tuple[float, str]) -> str:
    return _ranked(offered, WRONG, 0.2)[0][1]


def test_an_edit_goes_before_another_caption_that_matches_a_little_better() -> None:
    assert first((0.9, ANEW), (0.85, EDIT)) == EDIT


def test_where_an_edit_helps_little_another_caption_goes_first() -> None:
    assert first((0.9, ANEW), (0.35, EDIT)) == ANEW


def test_among_edits_of_the_same_words_the_score_decides() -> None:
    assert first((0.5, EDIT), (0.6, EDIT.replace("brown", "black"))).startswith("A black")
    assert _ranked([], WRONG, 0.2) == []


def test_the_share_of_words_lost() -> None:
    assert share_lost(WRONG, WRONG.text) == 0
    assert share_lost(WRONG, EDIT.upper()) == pytest.approx(1 / 9)
    assert share_lost(WRONG, "") == 1
