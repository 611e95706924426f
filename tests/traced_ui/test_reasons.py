"""Reasons as sentences, and the captioner's expectations on hover."""

from dataclasses import replace

import numpy as np

from backend.engine.detection.explanations import SIGNS, Reason
from backend.engine.expectation import Expectation
from tests.engine.detection.made_trajectories import trajectory
from traced_ui.highlighting import highlighted_caption
from traced_ui.reasons import expectations_by_word, sentence

TEXT = "A dog <b>desert</b>"
LOG_P = np.array([-0.1, -0.2, -5], np.float32)
EXPECTATION = Expectation(
    LOG_P, -LOG_P, ((), (("dog", 0.8),), (("grass", 0.614), ("sand", 0.2))), "x"
)
ONE = replace(trajectory(TEXT, [0.0, 0.1, -0.2], 0.5), expectation=EXPECTATION)


def sentence_of(sign: str, contribution: float, words: tuple[int, ...] = ()) -> str:
    before, named, after = sentence(Reason(sign, contribution, 0.2, words), ONE)  # pyrefly: ignore[bad-argument-type]
    return " ".join(part for part in (before, *named, after) if part)


def test_each_sign_has_a_sentence_for_either_direction() -> None:
    word = ONE.caption.words[2]
    assert sentence_of("captioner lowest", 1, (2,)) == (
        f"The captioner does not expect {word} (it expected grass 0.61, sand 0.20)"
    )
    assert sentence_of("deletion", 1, (2,)) == f"Without {word} the match rises by 0.20"
    assert sentence_of("auxiliary deletion", 1, (2,)).endswith("the auxiliary score rises by 0.20")
    assert sentence_of("s", 1) == "Picture and caption match: s is low for this dataset (0.20)"
    sentences = {sentence_of(sign, by, (2,)) for sign in SIGNS for by in (1, -1)}
    assert len(sentences) == 2 * len(SIGNS)


def test_words_that_say_nothing_are_not_named_and_none_is_named_twice() -> None:
    text = "A dog sitting on a purple bench"
    of_text = trajectory(text, [0.0] * 7, 0.5)
    for words, named in (
        ((5, 2, 3, 4, 0), ("purple", "sitting")),
        ((4, 0), ("a",)),
        ((5, 3), ("purple",)),
    ):
        _, shown, after = sentence(Reason("best gain", 1, 0.2, words), of_text)
        assert shown == named
        assert after.startswith("together ") is (len(named) > 1)


def test_hover_shows_what_was_expected() -> None:
    assert list(expectations_by_word(ONE)) == ["", "dog 0.80", "grass 0.61, sand 0.20"]
    assert list(expectations_by_word(replace(ONE, expectation=None))) == []
    html = highlighted_caption(TEXT, (), expected=expectations_by_word(ONE))
    assert "the captioner expected: grass 0.61, sand 0.20" in html
    assert html.count("the captioner expected") == 2
