"""The Models page and the choice of a model to score with: what they say and what they start."""

from pathlib import Path
from typing import Any

import pytest

from backend.jobs.model_manager import ModelView
from backend.jobs.model_probe import Probe
from backend.workspace import Workspace
from tests.lab.scenes.other_pictures import generated
from traced_ui.datasets import imported_note
from traced_ui.models_page import choices, chosen_by, done_message, models_html

PROBE = Probe("fast", None, "cpu", "float32", 600.0, 2.0, 700_000_000, 2, "2026-11-23T00:00:00")


def test_the_table_says_what_each_costs_and_what_is_here(workspace: Workspace) -> None:
    html = models_html(workspace.models.listed())
    for text in ("fast", "openai/clip-vit-base-patch32", "605 MB", "MIT", "3d74acf9a28c",
                 "not measured", "151 million", "BSD 3-Clause"):  # fmt: skip
        assert text in html
    assert html.count("<td>yes</td>") == 1  # the embedded one


def test_a_name_is_text(workspace: Workspace) -> None:
    hostile = "<b onclick=x>${7*6}"
    view = ModelView(hostile, hostile, None, hostile, None, None, None, "", "", True, False, PROBE)
    html = models_html([view])
    assert "<b onclick" not in html
    assert "${" not in html
    assert "10 min" in html


def test_each_model_is_offered_with_size_and_time(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("backend.jobs.model_manager.probes", lambda folder: {"fast": PROBE})
    listed = choices(workspace, 785)
    assert listed[0] == ("the dataset's own model", "")
    assert listed[1] == ("fast · 605 MB to download · about 8 min for 785 pairs", "fast")
    assert listed[-1][1] == "embedded"


def test_only_adjudicators_change_what_a_server_holds(workspace: Workspace) -> None:
    workspace.accounts.add("ada", "a long password", "adjudicator")
    workspace.accounts.add("bob", "a long password", "curator")

    class Asked:
        def __init__(self, username: str | None) -> None:
            self.username = username

    def chosen(name: str | None, model: str | None) -> str:
        asked: Any = Asked(name)
        return chosen_by(workspace, model, asked)

    assert chosen("ada", " fast ") == chosen(None, "fast") == "fast"
    with pytest.raises(Exception, match="Only an adjudicator"):
        chosen("bob", "fast")
    with pytest.raises(Exception, match="Choose a model"):
        chosen(None, " ")


def test_an_import_of_other_pictures_asks_for_a_model(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "photographs"
    folder.mkdir()
    rows = ["file_name,caption"]
    for number, (kind, image) in enumerate(generated(6, 12)):
        image.save(folder / f"{number}.png")
        rows.append(f"{number}.png,A {kind} of a holiday")
    (folder / "metadata.csv").write_text("\n".join(rows) + "\n")
    started = workspace.jobs.start("import", path=str(folder))
    assert workspace.jobs.background.wait(120)
    result = workspace.jobs.job(started).result
    assert "12 of 12 pictures" in result["asks_for_model"]
    assert "Model to score with" in imported_note(result)
    assert "--" not in imported_note(result)


def test_what_a_job_has_brought() -> None:
    assert done_message("download", {"models": [["a/b", "0123456789abcdef"]]}).endswith(
        "a/b at 0123456789ab."
    )
    probe = {"model": "fast", "seconds": 600.0, "memory": 700_000_000}
    assert "10 min for a thousand pairs" in done_message("probe", probe)
