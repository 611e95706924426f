"""The measurement of the drawn world's ClipCaps, with very small ones."""

from pathlib import Path

import pytest

from backend.errors import SettingsError
from research.captioning.likelihood import LikelihoodRecipe
from research.evaluation import captioning
from research.evaluation.captioning_clipcap import (
    ORDINARY,
    RICH,
    evaluate,
    marks,
    models_of,
    recipe_of,
)
from research.evaluation.captioning_figures import Figures, Retrieved
from research.scenes.train_clipcap import Shape, fine_tune, train

SMALL = Shape(24, layers=1, width=16, heads=2, recipe=LikelihoodRecipe(12, 16, 1e-2, 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("clipcap")
    for kind in (ORDINARY, RICH):
        train(made, kind, 0, SMALL)
    fine_tune(made, ORDINARY, 0, 2, SMALL)
    return made


def test_every_model_of_a_folder_is_measured_and_written_as_a_table(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: list[str] = []
    figures = evaluate(folder, 40, lines.append)
    assert [(row.recipe, row.seed, row.step) for row in figures] == [
        (recipe_of(ORDINARY, False), 0, 12),
        (recipe_of(ORDINARY, True), 0, 2),
        (recipe_of(RICH, False), 0, 12),
    ]
    ordinary, _, rich = figures
    for row in figures:
        assert len(row.judged) == 1, "one judge took no part"
        assert set(row.judged[0].bags) == {3, 5, 7}
        assert 0 <= row.all_true <= row.readable <= 1
    assert 8 < ordinary.reference_words * 1.2 < rich.reference_words, "each against its own kind"
    assert len(lines) == 1 + len(figures)
    table = tmp_path / "table.md"
    captioning.main(
        ["--clipcap", str(folder), "--quick", "--held-out", "40", "--markdown", str(table)]
    )
    written = table.read_text(encoding="utf-8")
    assert written in capsys.readouterr().out
    assert f"| {recipe_of(ORDINARY, True)} | 0 | 2 |" in written
    assert "| ClipCap ordinary, MLE: readable | >= 95% |" in written


def test_unfinished_models_and_other_folders_are_ignored(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ordinary-0").mkdir()
    (tmp_path / "bagcurri-0").mkdir()
    (tmp_path / "bagcurri-0" / "model.safetensors").touch()
    with pytest.raises(SettingsError, match="has no ClipCap"):
        models_of(tmp_path)
    with pytest.raises(SettingsError, match="belongs to the BLIP captioner"):
        captioning.main(["--clipcap", str(folder), "--recipe", "random"])
    (model, *_) = models_of(folder)
    assert model.folder.name == "ordinary-0"


def row(
    kind: str, tuned: bool, r: float, words: float, rewarded: float = 0.0, all_true: float = 0.4
) -> Figures:
    def retrieved(value: float) -> Retrieved:
        return Retrieved(value, {3: value, 5: value, 7: value})

    return Figures(
        recipe_of(kind, tuned), 0, 100, retrieved(rewarded or r), (retrieved(r),),
        0.9, all_true, 0.96, 5.0, 0.8, 0.1, 0.2, 1.9, words, 120, 0.98, 10.0,
    )  # fmt: skip


def test_marks_compare_with_the_start_and_with_the_other_kind() -> None:
    figures = [
        row(ORDINARY, False, 0.80, 9.0), row(ORDINARY, True, 0.86, 8.0, rewarded=0.95),
        row(RICH, False, 0.90, 12.5, all_true=0.3), row(RICH, True, 0.94, 12.5),
    ]  # fmt: skip
    by_name = {mark.what: (mark.measured, mark.reached) for mark in marks(figures)}
    assert by_name["ClipCap ordinary, MLE: readable"] == ("96.0%", True)
    assert by_name["ClipCap ordinary, MLE: all claims true"] == ("40.0%", True)
    assert by_name["ClipCap rich, MLE: all claims true"] == ("30.0%", False)
    assert by_name["ClipCap ordinary, MLE: length against the references"] == ("-10.0%", True)
    assert by_name["ClipCap rich, MLE: length against the references"] == ("+25.0%", False)
    assert by_name["ClipCap ordinary, SR-L: judge's RD100"] == ("+6.0", True)
    assert by_name["ClipCap rich, SR-L: judge's RD100"] == ("+4.0", False)
    kept = "ClipCap ordinary, SR-L: words, of ClipCap ordinary, MLE's"
    assert by_name[kept] == ("88.9%", False)
    hacked = "ClipCap ordinary, SR-L: the judge's rise of R@1 #3, of the rewarding model's"
    assert by_name[hacked] == ("40%", False)
    for size in (3, 5, 7):
        name = f"SR-L, rich over ordinary start: judge's R@1 #{size}"
        assert by_name[name] == ("+8.0", True)
