"""Reasons as sentences, and the captioner's expectations on hover."""

import re
from dataclasses import replace

import numpy as np

from backend.engine.detection.explanations import SIGNS, Reason, Reasons
from backend.engine.expectation import Expectation
from backend.review.views import PairView
from tests.engine.detection.made_trajectories import trajectory
from traced_ui import review_page
from traced_ui.highlighting import highlighted_caption
from traced_ui.reasons import expectations_by_word, reasons_section, sentence

TEXT = "A dog <b>desert</b>"
LOG_P = np.array([-0.1, -0.2, -5], np.float32)
EXPECTATION = Expectation(
    LOG_P, -LOG_P, ((), (("dog", 0.8),), (("grass", 0.614), ("sand", 0.2))), "x"
)
ONE = replace(trajectory(TEXT, [0.0, 0.1, -0.2], 0.5), expectation=EXPECTATION)


def sentence_of(
    sign: str, contribution: float, words: tuple[int, ...] = (), value: float = 0.2
) -> str:
    before, named, after = sentence(Reason(sign, contribution, value, words), ONE)  # pyrefly: ignore[bad-argument-type]
    return " ".join(part for part in (before, *named, after) if part)


def test_each_sign_has_a_sentence_for_large_and_small_values() -> None:
    assert "grass 61 %, sand 20 %" in sentence_of("captioner lowest", 1, (2,))
    assert "0.20" in sentence_of("deletion", 1, (2,))
    sentences = {sentence_of(sign, 1, (2,), value) for sign in SIGNS for value in (0.2, 0.01)}
    assert len(sentences) >= 2 * len(SIGNS) - 3, "two have no number, and 0 words are 0 words"


def test_the_side_is_read_out_after_the_sentence() -> None:
    reasons = Reasons((Reason("s", 0.8, 0.2, ()), Reason("s", -0.4, 0.7, ())), True)
    section = re.sub("<small aria-hidden.*?</small>", "", reasons_section(reasons, ONE) or "")
    lines = [re.sub("<[^>]*>", "", line).strip() for line in re.findall("<li.*?</li>", section)]
    assert [line.startswith("The match") for line in lines] == [True, True]
    assert ["against" in line for line in lines] == [True, False]


def test_a_sentence_says_the_value_whichever_side_it_counts_for(
    demo_views: list[PairView],
) -> None:
    """A classifier that has learned from few verdicts may hold a small match for a good sign: that
    makes it no high one."""
    checked = 0
    for view in demo_views:
        if view.opinion.reasons is None or view.opinion.trajectory is None:
            continue
        for reason in view.opinion.reasons.listed:
            text = sentence(reason, view.opinion.trajectory)
            assert text == sentence(
                replace(reason, contribution=-reason.contribution), view.opinion.trajectory
            )
            if reason.sign in ("s", "auxiliary"):
                assert re.findall(r"-?[\d.]*\d", text[0]) == [f"{reason.value:.2f}"], view.pair_id
                checked += 1
    for sign in SIGNS:
        for words in ((), (2,)):
            assert sentence_of(sign, 1, words, 0.2) == sentence_of(sign, -1, words, 0.2), sign
    assert checked > 1000


def test_the_rise_of_the_whole_path_is_told_without_words() -> None:
    """Many of the words that are gone by the best step have nothing to do with the rise."""
    path = trajectory("A dog sitting on a bench", [0.1, 0.4, -0.5, 0.2, 0.1, -0.1], 0.3)
    assert path.peak
    before, words, after = sentence(Reason("best gain", 1, 0.2, ()), path)
    assert (words, after) == ((), "")
    low, high = (f"{float(path.scores[step]):.2f}" for step in (0, path.peak))
    assert {low, high, str(path.peak)} <= set(re.findall(r"[\d.]*\d", before))


def test_a_replaced_word_is_not_called_left_out() -> None:
    """An explorer that replaces words has no score of the caption without one."""
    replaced = replace(ONE, captions=("A cat <b>desert</b>",) * ONE.steps)
    before, words, _ = sentence(Reason("deletion", 1, 0.2, (1,)), replaced)
    assert words == ("dog",)
    assert not before.startswith("Without")


def test_every_sentence_about_words_is_true_of_the_demo(demo_views: list[PairView]) -> None:
    """All pairs: N of "Without X … N" is the score without exactly X, less that of the caption."""
    named = 0
    assert len(demo_views) == 600
    for view in demo_views:
        path, pair_id = view.opinion.trajectory, view.pair_id
        if view.opinion.reasons is None or path is None:
            continue
        scores = {"deletion": (path.scores[0], path.first_step_scores)}
        if (second := path.auxiliary) is not None:
            scores["auxiliary deletion"] = (second.scores[0], second.first_step_scores)
        for reason in view.opinion.reasons.listed:
            before, words, after = sentence(reason, path)
            if words and before == "Without":
                (word,) = reason.words
                whole, without = scores[reason.sign]
                rise = float(without[word] - whole)
                assert words == (path.caption.words[word],), pair_id
                assert f"{rise:.2f}" == re.findall(r"[\d.]*\d", after)[-1], pair_id
                named += 1
    assert named > 100


def test_the_sentence_below_the_caption_is_true_of_the_demo(demo_views: list[PairView]) -> None:
    """All pairs: N and M of "Without X, Y … from N to M" are the scores with and without exactly
    these words, whether the path takes them out together or one alone."""
    named = 0
    for view in demo_views:
        reason, path = review_page.why(view), view.opinion.trajectory
        if reason is None or path is None or reason.before != "Without":
            continue
        texts = path.caption.words
        ways = [(path.removed[:step], path.scores[step]) for step in range(1, path.steps + 1)]
        ways += [((word,), score) for word, score in enumerate(path.first_step_scores)]
        numbers = tuple(re.findall(r"[\d.]*\d", reason.after))
        assert numbers in [
            (f"{float(path.scores[0]):.2f}", f"{float(score):.2f}")
            for words, score in ways
            if {texts[word] for word in words} == set(reason.words)
        ], view.pair_id
        named += 1
    assert named > 80


def test_hover_shows_what_was_expected() -> None:
    assert list(expectations_by_word(ONE)) == ["", "dog 80 %", "grass 61 %, sand 20 %"]
    assert list(expectations_by_word(replace(ONE, expectation=None))) == []
    html = highlighted_caption(TEXT, (), expected=expectations_by_word(ONE))
    assert "the captioner expected: grass 61 %, sand 20 %" in html
    assert html.count("the captioner expected") == 2
