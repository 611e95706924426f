"""`distill` evaluates its corrector with the model that scored the dataset."""

from pathlib import Path

from typer.testing import CliRunner

import app as program
from backend.settings import load_settings
from backend.workspace import Workspace
from research.scenes import demo
from research.scenes.vision_language import make_vision_language_model
from tests.checkpoints import random_clip


def test_the_model_of_the_dataset_is_used(tmp_path: Path) -> None:
    state = tmp_path / "state"
    demo.write(tmp_path / "pairs", 4, 0, 96, seed=5)
    clip = random_clip(tmp_path / "models")
    workspace = Workspace(load_settings({"data_directory": str(state), "model": str(clip)}, {}))
    dataset = workspace.find_or_import(str(tmp_path / "pairs"))
    workspace.jobs.score(dataset, suggestions=False)
    workspace.store.close()
    student = make_vision_language_model(tmp_path / "student", width=48, layers=1)
    arguments = ["distill", "pairs", "--student", str(student), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(
        program.app, arguments, env={"TRACED_DATA_DIRECTORY": str(state), "COLUMNS": "200"}
    )
    message = " ".join(done.stderr.split())
    assert "0 corrections were accepted by people" in message
    assert done.exit_code == 5  # no training data; another model would have no trajectories
