"""Do maps of words tell wrong words from right ones? The figures, on maps whose truth is known."""

from pathlib import Path

import numpy as np
import pytest

from backend.engine.scoring.loading import load_scorer
from backend.features.regions.region import LEAST, SHARE
from backend.settings import MODELS
from research.evaluation.labelled import DIRECTORIES
from research.evaluation.map_evidence import (
    MAP_SIGNS,
    Words,
    figures,
    first_hits,
    map_signs,
    markdown,
    within_captions,
)


def test_signs_of_a_map() -> None:
    support = np.array([1.0, LEAST - 0.1, 1.0])
    weights = np.array([[4.0, 4 * SHARE, 0.1, -9.0], [4.0, 0, 0, 0], [-1.0, -2.0, -1.0, 0]])
    signs = dict(zip(MAP_SIGNS, map_signs(support, weights).T, strict=True))
    assert signs["support"].tolist() == support.tolist()
    assert signs["nothing speaks for it"].tolist() == [0, 1, 1]
    assert signs["peak"].tolist() == [4, 4, 0]
    assert signs["best part"].tolist() == pytest.approx([4 + 4 * SHARE, 4, 0])
    assert signs["concentration"].tolist() == pytest.approx([4 / (4.1 + 4 * SHARE), 1, 0])


def test_words_are_compared_within_their_captions() -> None:
    """The scores of the second caption are higher throughout, and the third has no wrong word."""
    words = Words(
        np.array([0, 0, 1, 1, 1, 2]),
        np.array([True, False, False, True, False, False]),
        np.zeros(6), np.zeros((6, 1)), np.zeros((6, 1)),
    )  # fmt: skip
    odds = np.array([0.2, 0.1, 0.8, 0.7, 0.5, 0.9])
    assert within_captions(words, odds) == pytest.approx((1 + 0.5) / 2)
    assert first_hits(words, odds) == pytest.approx(1 / 2)


@pytest.mark.nightly
def test_figures_stand_in_tables(tmp_path: Path) -> None:
    scorer = load_scorer(str(MODELS / DIRECTORIES["blip-itm"]), "blip-itm")
    results = figures(scorer, MODELS, 40, 900, tmp_path)
    assert all(0 <= value <= 1 for value in results.values())
    lines = markdown([results, results]).splitlines()
    assert any(line.startswith("| today's signs and maps |") for line in lines)
