"""Corrections from the trajectory, and the text tools of guided infill."""

import numpy as np
import pytest

from backend.engine.captions import Caption
from backend.engine.correction import trajectory_suggestions
from backend.engine.correction.guided_infill import prefix_before
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.types import SuspectWord
from backend.engine.trajectories.trajectory import Trajectory


def trajectory(text: str, scores: list[float], removed: list[int]) -> Trajectory:
    caption = Caption.parse(text)
    return Trajectory(
        caption,
        np.array(scores, np.float32),
        np.ones(len(scores), np.float32),
        tuple(removed),
        np.zeros(len(caption), np.float32),
    )


def test_the_smallest_edit_with_most_of_the_gain_comes_first() -> None:
    walked = trajectory("A red dog on grass", [0.20, 0.55, 0.57, 0.40, 0.3, 0.1], [1, 0, 3, 4, 2])
    # The peak also removes the article, but that belongs to a noun that stays.
    assert trajectory_suggestions.propose(walked) == ["A dog on grass"]


def test_an_ungrammatical_remainder_is_not_proposed() -> None:
    text = "A tree with a bird in a green field."
    scores = [0.2, 0.3, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1]
    left_out = trajectory(text, scores, [4, 8, 0, 1, 2, 3, 5, 6, 7])
    assert left_out.caption_at(2) == "A tree with a in a green"
    assert trajectory_suggestions.propose(left_out) == [], "two of nine words are too few"


def test_nothing_is_proposed_when_no_removal_helps() -> None:
    assert trajectory_suggestions.propose(trajectory("A dog", [0.9, 0.5, 0.1], [0, 1])) == []


def test_the_empty_caption_is_never_proposed() -> None:
    assert trajectory_suggestions.propose(trajectory("Joy", [0.1, 0.9], [0])) == []


def test_suspect_positions_are_ranked_and_fall_back_to_the_worst_word() -> None:
    walked = trajectory("A red dog", [0.2, 0.5, 0.4, 0.1], [1, 0, 2])
    suspects = (SuspectWord(2, 5, 0.9), SuspectWord(6, 9, 0.6))
    context = CorrectionContext(None, None, walked, suspects)  # pyrefly: ignore[bad-argument-type]
    assert context.suspect_positions(3) == (1, 2)
    assert context.suspect_positions(1) == (1,)
    weak = CorrectionContext(None, None, walked, (SuspectWord(2, 5, 0.3), SuspectWord(6, 9, 0.1)))  # pyrefly: ignore[bad-argument-type]
    assert weak.suspect_positions(3) == (1,)


@pytest.mark.parametrize(
    ("position", "filled", "prefix"),
    [(0, {}, ""), (1, {}, "A"), (2, {1: "brown"}, "A brown"), (3, {0: "One"}, "One red dog,")],
)
def test_prefix_before(position: int, filled: dict[int, str], prefix: str) -> None:
    assert prefix_before(Caption.parse("A red dog, running"), position, filled) == prefix
