"""What the doctor finds."""

import shutil
from pathlib import Path

import pytest

from backend.cli.doctor import DoctorReport, examine
from backend.settings import Settings, load_settings
from backend.workspace import Workspace
from tests.datasets.folders import malformed


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = load_settings({"data_directory": str(tmp_path / "state")}, {})
    workspace = Workspace(made)
    workspace.jobs.import_dataset(malformed(tmp_path / "pairs"))
    workspace.store.close()
    return made


def states(report: DoctorReport) -> dict[str, str]:
    return {finding.what: finding.state for finding in report.findings}


def test_a_new_database_is_well_but_not_scored(settings: Settings) -> None:
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


def test_models_are_loaded_on_request(settings: Settings) -> None:
    assert states(examine(settings, load_models=True))["scorer"] == "ok"
    broken = load_settings(
        {"data_directory": str(settings.data_directory), "model": "/nowhere/model"}, {}
    )
    report = examine(broken, load_models=True)
    assert states(report)["scorer"] == "problem"
    assert not report.is_well


def test_a_database_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_bytes(b"this is no database, however long it is" * 100)
    report = examine(
        load_settings(
            {"database": f"sqlite:///{tmp_path}/x.db", "data_directory": str(tmp_path)}, {}
        )
    )
    assert states(report)["database"] == "problem"
    assert states(report)["embedded models"] == "ok", "the rest is looked at all the same"
