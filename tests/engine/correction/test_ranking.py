"""Which correction is offered first: what gains most for the words that it costs."""

import pytest

from backend.engine.captions import Caption
from backend.engine.correction.ranking import ranked, share_lost, words_changed

WRONG = Caption.parse("A red dog on a beach by the sea.")
EDIT = "A brown dog on a beach by the sea."
ANEW = "Two boats on a lake."


def first(*suggestions: tuple[float, str]) -> str:
    return order(*suggestions)[0]


def order(*suggestions: tuple[float, str]) -> list[str]:
    in_order = ranked(
        suggestions,
        WRONG,
        0.2,
        text_of=lambda suggestion: suggestion[1],
        s_of=lambda suggestion: suggestion[0],
    )
    return [text for _, text in in_order]


def test_an_edit_goes_before_another_caption_that_matches_a_little_better() -> None:
    assert first((0.9, ANEW), (0.85, EDIT)) == EDIT


def test_where_an_edit_helps_little_another_caption_goes_first() -> None:
    assert first((0.9, ANEW), (0.35, EDIT)) == ANEW


def test_among_edits_of_the_same_words_the_score_decides() -> None:
    assert first((0.5, EDIT), (0.6, EDIT.replace("brown", "black"))).startswith("A black")
    assert order() == []


def test_among_equals_the_smallest_edit_wins_and_what_does_not_improve_goes_last() -> None:
    shorter = "A dog on a beach by the sea."
    both = "A brown cat on a beach by the sea."
    assert order((0.80, both), (0.8, EDIT)) == [EDIT, both]
    assert order((0.1, shorter), (0.2, both), (0.5, EDIT)) == [EDIT, both, shorter]
    assert words_changed(WRONG, shorter) == 1
    assert words_changed(WRONG, ANEW) > 4


def test_the_share_of_words_lost() -> None:
    assert share_lost(WRONG, WRONG.text) == 0
    assert share_lost(WRONG, EDIT.upper()) == pytest.approx(1 / 9)
    assert share_lost(WRONG, "") == 1
