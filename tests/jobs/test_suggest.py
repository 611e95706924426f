"""Corrections are prepared once: what was looked for in vain is not looked for again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from backend.engine.correction.suggestion import CorrectionContext
from backend.jobs import suggest
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.checkpoints import drawn_pairs
from tests.datasets.folders import image_folder


def test_nothing_to_suggest_is_remembered_until_the_classifier_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = drawn_pairs(6, seed=31)
    rows = [{"file_name": f"{n}.png", "caption": text} for n, (_, text) in enumerate(made)]
    folder = image_folder(tmp_path / "pairs", rows, ())
    for n, (image, _) in enumerate(made):
        image.save(folder / f"{n}.png")
    workspace = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    monkeypatch.setattr(suggest, "SUGGEST_ABOVE", 0.0)
    asked: list[int] = []

    def in_vain(_: Any, contexts: Sequence[CorrectionContext], *__: Any, **___: Any) -> list[Any]:
        asked.append(len(contexts))
        return [[] for _ in contexts]

    monkeypatch.setattr(suggest.judge, "suggest_all", in_vain)
    dataset = workspace.find_or_import(str(folder))
    workspace.jobs.score(dataset)
    assert sum(asked) == len(rows)
    workspace.jobs.score(dataset)
    assert sum(asked) == len(rows), "nobody is asked twice"
    # Another classifier suspects other words.
    monkeypatch.setattr(suggest, "_prepared_by", lambda *_: "prepared otherwise")
    workspace.jobs.score(dataset)
    assert sum(asked) == 2 * len(rows)
    workspace.store.close()
