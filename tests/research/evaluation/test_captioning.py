"""The evaluation of self-retrieval fine-tuning, very small, with the embedded models."""

from dataclasses import replace
from pathlib import Path

import pytest

from backend.engine.correction.captioner_loading import load_captioner
from research.evaluation.captioning import (
    BAG_CURRI,
    START,
    Sizes,
    evaluate,
    markdown,
    read_figures,
)
from research.evaluation.captioning_figures import Figures

TINY = Sizes(steps=2, batch=20, scenes=40, held_out=40, every=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("captioning")


@pytest.fixture(scope="module")
def figures(folder: Path) -> list[Figures]:
    return evaluate([BAG_CURRI], [0], TINY, folder, lambda line: None)


def test_a_recipe_is_trained_measured_stored_and_not_repeated(
    folder: Path, figures: list[Figures]
) -> None:
    assert [(row.recipe, row.step) for row in figures] == [
        (START, 0), (BAG_CURRI, 1), (BAG_CURRI, 2)
    ]  # fmt: skip
    start = figures[0]
    assert start.readable > 0.9, "a captioner that is trained"
    assert start.rewarded.rd100 > 0.7
    assert start.true > 3 > start.false > 0
    assert 0.3 < start.all_true < 1
    assert set(start.judged[0].bags) == {3, 5, 7}
    assert 5 < start.words < 16
    assert 0 < start.chair_objects < start.chair_captions < 1
    assert start.cider > 0.5
    assert figures[2] != replace(figures[1], step=2), "it learns"
    saved = load_captioner(str(folder / "bagcurri-0"))
    assert saved.model.config.model_type == "blip"
    # A finished recipe is read from the folder; one of other sizes or an unfinished one is not.
    assert evaluate([BAG_CURRI], [0], TINY, folder, pytest.fail) == figures
    assert read_figures(folder, BAG_CURRI, 0, replace(TINY, steps=3)) is None
    assert read_figures(folder, BAG_CURRI, 1, TINY) is None
    tables = markdown(figures)
    assert "| MLE | 0 | 0 |" in tables
    assert "| BagCurri: judge's RD100 | >= +5 points |" in tables
