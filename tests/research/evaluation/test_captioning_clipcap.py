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
    models_of,
    recipe_of,
)
from research.scenes.train_clipcap import Shape, fine_tune, train

SMALL = Shape(24, layers=1, width=16, heads=2, recipe=LikelihoodRecipe(12, 16, 1e-2, 2))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("clipcap")
    for kind in (ORDINARY, RICH):
        train(models, kind, 0, SMALL)
    fine_tune(models, ORDINARY, 0, 2, SMALL)
    return models


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
    text = table.read_text(encoding="utf-8")
    assert text in capsys.readouterr().out
    assert f"| {recipe_of(ORDINARY, True)} | 0 | 2 |" in text
    assert "| ClipCap ordinary, MLE: readable | >= 95% |" in text


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
