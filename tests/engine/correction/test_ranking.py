"""Which correction is offered first: the highest gain for the words that it changes."""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.claims.claim import Claim
from backend.engine.correction.judge import judge_all
from backend.engine.correction.suggestion import rank_suggestions, share_lost, words_changed
from tests.engine.correction.contexts import context

WRONG = Caption.parse("A red dog on a beach by the sea.")
EDIT = "A brown dog on a beach by the sea."
REWRITTEN = "Two boats on a lake."


def order(*suggestions: tuple[float, str]) -> list[str]:
    """The texts of (s, text), ranked."""
    in_order = rank_suggestions(suggestions, WRONG, 0.2, text_of=itemgetter(1), s_of=itemgetter(0))
    return [text for _, text in in_order]


BLACK = EDIT.replace("brown", "black")
SHORTER = "A dog on a beach by the sea."
BOTH = "A brown cat on a beach by the sea."


@pytest.mark.parametrize(
    ("suggestions", "expected"),
    [
        pytest.param([(0.9, REWRITTEN), (0.85, EDIT)], [EDIT, REWRITTEN],
                     id="an edit ranks above a new caption that matches slightly better"),
        pytest.param([(0.9, REWRITTEN), (0.25, EDIT)], [REWRITTEN, EDIT],
                     id="a new caption ranks first if an edit helps little"),
        pytest.param([(0.5, EDIT), (0.6, BLACK)], [BLACK, EDIT],
                     id="among edits of the same words the score decides"),
        pytest.param([(0.80, BOTH), (0.8, EDIT)], [EDIT, BOTH],
                     id="ties go to the smallest edit"),
        pytest.param([(0.1, SHORTER), (0.2, BOTH), (0.5, EDIT)], [EDIT, BOTH, SHORTER],
                     id="captions without gain rank last"),
        pytest.param([], [], id="nothing"),
    ],
)  # fmt: skip
def test_the_highest_gain_for_the_words_that_it_changes_comes_first(
    suggestions: list[tuple[float, str]], expected: list[str]
) -> None:
    assert order(*suggestions) == expected


def test_the_words_that_a_caption_changes_or_loses() -> None:
    assert words_changed(WRONG, SHORTER) == 1
    assert words_changed(WRONG, REWRITTEN) > 4
    assert share_lost(WRONG, WRONG.text) == 0
    assert share_lost(WRONG, EDIT.upper()) == pytest.approx(1 / 9)
    assert share_lost(WRONG, "") == 1


def test_captions_of_one_proposer_keep_its_order_within_their_ranks() -> None:
    made = [(0.9, BLACK, 1), (0.85, REWRITTEN, None), (0.5, EDIT, 0), (0.1, EDIT.upper(), 2)]
    in_order = rank_suggestions(
        made, WRONG, 0.2, text_of=itemgetter(1), s_of=itemgetter(0),
        preference_of=lambda entry: None if entry[2] is None else ("guided infill", entry[2]),
    )  # fmt: skip
    assert [text for _, text, _ in in_order] == [EDIT, BLACK, REWRITTEN, EDIT.upper()]


class Scores:
    """A scorer with a given score for each caption."""

    def __init__(self, **scores: float) -> None:
        self.scores = {text.replace("_", " "): s for text, s in scores.items()}

    #: Its own session and reader, whose tokens are the captions.
    live = 8
    reader = SimpleNamespace(tokenise=list)

    def open_session(self) -> "Scores":
        return self

    def score(self, requests: Sequence[tuple[None, Sequence[str]]]) -> list[np.ndarray]:
        return [np.array([self.scores[text] for text in texts]) for _, texts in requests]

    def embed(self, captions: Sequence[str]) -> np.ndarray:
        return np.ones((len(captions), 1), np.float32)


def test_the_captioner_orders_infills_and_the_score_decides_which_improve() -> None:
    scorer: Any = Scores(A_tan_dog=0.4, A_brown_dog=0.6, A_black_dog=0.9, A_big_dog=0.8, A_cat=0.7)
    likeliest_first = ["A tan dog", "A brown dog", "A black dog", "A big dog"]
    proposals = dict.fromkeys(likeliest_first, "guided infill")
    case = context("A red dog")  # its score is 0.5
    ((best,),) = judge_all(scorer, [(case, proposals)], count=1)
    assert (best.caption, best.place, best.s_after) == ("A brown dog", 1, 0.6)
    (offered,) = judge_all(scorer, [(case, {"A cat": "unguided captioner", **proposals})])
    assert {suggestion.caption for suggestion in offered} == {"A brown dog", "A black dog", "A cat"}
    infill = [s.caption for s in offered if s.proposer == "guided infill"]
    assert infill == ["A brown dog", "A black dog"]


def test_a_tag_is_replaced_by_a_tag() -> None:
    scorer: Any = Scores(brown_dog=0.6, A_dog_on_the_sand=0.9, brown_dog_sand=0.8)
    tag = replace(context("red dog"), claim=Claim(0, 7, "tag"))
    proposals = dict.fromkeys(scorer.scores, "guided infill")
    ((first, second),) = judge_all(scorer, [(tag, proposals)])
    assert {first.caption, second.caption} == {"brown dog", "brown dog sand"}
