"""The evaluation of self-retrieval fine-tuning, very small, with the embedded models."""

import shutil
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
    marks,
    read_figures,
)
from research.evaluation.captioning_figures import Figures, Retrieved

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


def test_an_interrupted_recipe_continues_from_its_checkpoint(
    folder: Path, figures: list[Figures], tmp_path: Path
) -> None:
    class KilledError(Exception):
        pass

    def kill_at_end(line: str) -> None:
        if "after 2" in line:
            raise KilledError

    shutil.copy(folder / "mle-0.json", tmp_path)
    with pytest.raises(KilledError):
        evaluate([BAG_CURRI], [0], TINY, tmp_path, kill_at_end)
    assert read_figures(tmp_path, BAG_CURRI, 0, TINY) is None
    log: list[str] = []
    assert evaluate([BAG_CURRI], [0], TINY, tmp_path, log.append) == figures
    assert not any("after 1" in line for line in log), "not from the beginning"


def made(recipe: str, seed: int, step: int, r: float, all_true: float) -> Figures:
    def retrieved(value: float) -> Retrieved:
        return Retrieved(value, {3: value, 5: value, 7: value})

    return Figures(
        recipe, seed, step, retrieved(r), (retrieved(r), retrieved(0.5 + (r - 0.5) / 4)),
        0.9, all_true, 1.0, 5.0, 0.8, 0.1, 0.2, 1.9, 11.0, 120, 0.98,
    )  # fmt: skip


def test_marks_compare_the_last_step_with_the_start_per_seed() -> None:
    figures = [
        made(START, 0, 0, 0.80, 0.7), made(START, 1, 0, 0.80, 0.7),
        made(BAG_CURRI, 0, 50, 0.99, 0.7), made(BAG_CURRI, 0, 100, 0.90, 0.5),
        made(BAG_CURRI, 1, 100, 0.84, 0.5), made("random", 0, 100, 0.87, 0.6),
        made("BagCurri + KL", 1, 100, 0.85, 0.68),
    ]  # fmt: skip
    by_name = {mark.what: (mark.measured, mark.reached) for mark in marks(figures)}
    assert by_name["BagCurri: judge's RD100"] == ("+10.0, +4.0", False)
    assert by_name["BagCurri: judge's R@1 #3"] == ("+10.0, +4.0", True)
    assert by_name["BagCurri + KL: all claims true"] == ("-2.0", True)
    assert by_name["BagCurri + KL: judge's RD100"] == ("+5.0", True)
    assert not any("CIDEr" in name for name in by_name), "not measured"
    (ahead,) = [value for name, value in by_name.items() if "over random" in name]
    assert ahead == ("+3.0", True)
    hacked = "BagCurri: rise of R@1 #3 by the second judge, of the rewarding model's"
    assert by_name[hacked] == ("25 %, 25 %", False)
