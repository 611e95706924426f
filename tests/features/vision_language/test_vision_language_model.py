"""A dataset is scored by a vision-language model that is asked."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.settings import load_settings
from backend.workspace import Workspace
from db.queries import run_queries, trajectory_queries
from tests.checkpoints import drawn_folder
from tests.engine.language_models.families import qwen2_5_vl


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    model = f"vqa:{qwen2_5_vl(tmp_path / 'qwen')}"
    models = {"TRACED_MODEL": model, "TRACED_CAPTIONER": model}
    opened = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, models))
    yield opened
    opened.store.close()


def test_a_dataset_remembers_the_model_and_its_run_the_question(
    workspace: Workspace, tmp_path: Path
) -> None:
    prompt = tmp_path / "mine.txt"
    prompt.write_text("Is this so? Yes or no.\n{caption}")
    model = f"{workspace.settings.model}@{prompt}"
    dataset = workspace.jobs.import_dataset(drawn_folder(tmp_path / "pairs", 6)).dataset_id
    assert workspace.jobs.score(dataset, suggestions=False, model=model).scored == 6
    run = workspace.store.read(run_queries.latest_run, dataset, "score")
    assert run is not None
    assert (run.scorer_kind, run.model) == ("vqa", model)
    assert "Is this so? Yes or no.\n{caption}<|im_end|>" in run.parameters["prompt"]
    assert (
        workspace.models.view(model).parameters == workspace.engines.of_dataset(dataset).parameters
    )
    assert workspace.jobs.score(dataset, suggestions=False).skipped == 6


def test_one_model_gives_scores_expectations_and_corrections(
    workspace: Workspace, tmp_path: Path
) -> None:
    dataset = workspace.jobs.import_dataset(drawn_folder(tmp_path / "pairs", 4)).dataset_id
    workspace.jobs.score(dataset)
    engine = workspace.engines.of_dataset(dataset)
    assert engine.captioner is not None
    assert engine.captioner.model is engine.scorer.model  # pyrefly: ignore[missing-attribute]
    with workspace.store.reading() as session:
        run = run_queries.latest_run(session, dataset, "score")
        assert run is not None
        assert trajectory_queries.count_unexpected(session, run.id, engine.captioner.identity) == 0
