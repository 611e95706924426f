"""Corrections from the trajectory, and the text tools of guided infill."""

from typing import Any

import pytest

from backend.engine.captions import Caption
from backend.engine.correction import trajectory_suggestions
from backend.engine.correction.guided_infill import prefix_before
from backend.engine.correction.suggestion import CorrectionContext
from backend.engine.detection.types import SuspectWord
from tests.engine.correction.contexts import walked


@pytest.mark.parametrize(
    ("text", "scores", "removed", "proposals"),
    [
        # The peak also removes the article, but that belongs to a noun that stays.
        pytest.param("A red dog on grass", [0.20, 0.55, 0.57, 0.40, 0.3, 0.1], [1, 0, 3, 4, 2],
                     ["A dog on grass"], id="the smallest edit with most of the gain"),
        # Two of nine words are too few: "A tree with a in a green".
        pytest.param("A tree with a bird in a green field.",
                     [0.2, 0.3, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1],
                     [4, 8, 0, 1, 2, 3, 5, 6, 7], [], id="no ungrammatical remainder"),
        pytest.param("A dog", [0.9, 0.5, 0.1], [0, 1], [], id="no removal helps"),
        pytest.param("Joy", [0.1, 0.9], [0], [], id="never the empty caption"),
    ],
)  # fmt: skip
def test_the_trajectory_proposes(
    text: str, scores: list[float], removed: list[int], proposals: list[str]
) -> None:
    assert trajectory_suggestions.propose(walked(text, scores, removed)) == proposals


def test_suspect_positions_are_ranked_and_fall_back_to_the_worst_word() -> None:
    trajectory = walked("A red dog", [0.2, 0.5, 0.4, 0.1], [1, 0, 2])
    no_picture: Any = None
    for (red, dog), count, positions in (
        ((0.9, 0.6), 3, (1, 2)), ((0.9, 0.6), 1, (1,)), ((0.3, 0.1), 3, (1,)),
    ):  # fmt: skip
        suspects = (SuspectWord(2, 5, red), SuspectWord(6, 9, dog))
        context = CorrectionContext(no_picture, None, trajectory, suspects)
        assert context.suspect_positions(count) == positions


@pytest.mark.parametrize(
    ("position", "filled", "prefix"),
    [(0, {}, ""), (1, {}, "A"), (2, {1: "brown"}, "A brown"), (3, {0: "One"}, "One red dog,")],
)
def test_prefix_before(position: int, filled: dict[int, str], prefix: str) -> None:
    assert prefix_before(Caption.parse("A red dog, running"), position, filled) == prefix
