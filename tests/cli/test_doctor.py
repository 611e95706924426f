"""The findings of `doctor`."""

import shutil
from pathlib import Path

import pytest

from backend.cli.doctor import DoctorReport, examine
from backend.settings import Settings, load_settings
from backend.store import open_database
from backend.workspace import Workspace
from db.queries import dataset_queries
from tests.checkpoints import random_clip, with_another_tokenizer
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import malformed


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = load_settings({"data_directory": str(tmp_path / "state")}, {})
    workspace = Workspace(settings)
    workspace.jobs.import_dataset(malformed(tmp_path / "pairs"))
    workspace.store.close()
    return settings


def states(report: DoctorReport) -> dict[str, str]:
    return {finding.what: finding.state for finding in report.findings}


def test_a_new_database_is_healthy_but_not_scored(settings: Settings) -> None:
    report = examine(settings)
    assert report.is_well
    by_check = states(report)
    assert by_check["database"] == by_check["embedded models"] == "ok"
    assert by_check["dataset 'pairs'"] == "warning"
    advice = next(f.advice for f in report.findings if f.what == "dataset 'pairs'")
    assert "app.py score pairs" in advice


def test_missing_images_and_folders_are_reported(settings: Settings, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "pairs" / "images", ignore_errors=True)
    for image in (tmp_path / "pairs").rglob("*.png"):
        image.unlink()
    report = examine(settings)
    assert not report.is_well
    assert "missing" in next(f.message for f in report.findings if f.state == "problem")
    shutil.rmtree(tmp_path / "pairs")
    assert any("is gone" in f.message for f in examine(settings).findings)


def test_a_moved_dataset_is_found_by_the_advised_command(
    settings: Settings, tmp_path: Path
) -> None:
    environment = {"TRACED_DATA_DIRECTORY": str(settings.data_directory), "COLUMNS": "200"}
    (tmp_path / "pairs").rename(tmp_path / "moved")
    advice = next(f.advice for f in examine(settings).findings if f.state == "problem")
    assert "datasets relocate pairs FOLDER" in advice
    status, _, err = invoked(environment, "score", "pairs", "--anyway")
    assert (status, "datasets relocate pairs" in " ".join(err.split())) == (3, True)
    (tmp_path / "other").mkdir()
    relocate = ("datasets", "relocate", "pairs")
    assert invoked(environment, *relocate, str(tmp_path / "other"))[0] == 2
    report = as_json(environment, *relocate, str(tmp_path / "moved"))
    assert (report["root"], report["missing"]) == (str(tmp_path / "moved"), 0)
    assert examine(settings).is_well


def test_models_are_loaded_on_request(settings: Settings) -> None:
    assert states(examine(settings, load_models=True))["scorer"] == "ok"
    broken = load_settings(
        {"data_directory": str(settings.data_directory), "model": "/nowhere/model"}, {}
    )
    report = examine(broken, load_models=True)
    assert states(report)["scorer"] == "problem"
    assert not report.is_well


@pytest.fixture(scope="module")
def another_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLIP with the tokenizer of another model."""
    return with_another_tokenizer(random_clip(tmp_path_factory.mktemp("models")))


def with_models_of(settings: Settings, remembered: str, **options: str) -> Settings:
    """Settings with these options, after the dataset has been scored with `remembered`."""
    store = open_database(settings.database_url)
    with store.writing() as session:
        dataset_queries.remember_models(session, 1, {"model": remembered, "captioner": "none"})
    store.close()
    return load_settings({"data_directory": str(settings.data_directory), **options}, {})


def test_remembered_models_of_datasets_are_loaded_as_well(
    settings: Settings, another_tokenizer: Path
) -> None:
    configured = with_models_of(settings, str(another_tokenizer))
    report = examine(configured, load_models=True)
    assert states(report)["scorer"] == "ok"
    (problem,) = (finding for finding in report.findings if finding.state == "problem")
    assert problem.what == "scorer of dataset 'pairs'"
    assert "tokenizer" in problem.message
    assert "score pairs --model" in problem.advice


def test_missing_models_are_reported_without_loading(settings: Settings, tmp_path: Path) -> None:
    model = random_clip(tmp_path / "models")
    configured = with_models_of(settings, str(model), model=str(model))
    report = examine(configured)
    assert report.is_well
    message = next(finding.message for finding in report.findings if finding.what == "scorer")
    assert str(model) in message
    assert "not loaded" in message
    shutil.rmtree(model)
    assert states(examine(configured))["scorer"] == "problem"
    report = examine(settings)
    (problem,) = (finding for finding in report.findings if finding.state == "problem")
    assert problem.what == "scorer of dataset 'pairs'"
    never = with_models_of(settings, "somebody/never-downloaded")
    advice = next(f.advice for f in examine(never).findings if f.state == "problem")
    assert "models download somebody/never-downloaded" in advice


def test_a_database_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"this is no database, however long it is" * 100)
    report = examine(
        load_settings(
            {"database": f"sqlite:///{tmp_path}/x.db", "data_directory": str(tmp_path)}, {}
        )
    )
    assert states(report)["database"] == "problem"
    assert states(report)["embedded models"] == "ok", "the rest is looked at all the same"


def test_what_others_can_read_is_reported(settings: Settings) -> None:
    folder = settings.data_directory
    folder.chmod(0o755)
    assert states(examine(settings))["privacy"] == "warning"
    folder.chmod(0o700)
    assert states(examine(settings))["privacy"] == "ok"
