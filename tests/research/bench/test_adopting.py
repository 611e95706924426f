"""Verdicts and pages while another classifier is adopted, at the smallest size."""

from pathlib import Path

from backend.settings import load_settings
from backend.workspace import Workspace
from research.bench.adopting import measure_adopting
from research.bench.generated_store import generate


def test_the_classifier_is_adopted_while_others_work(tmp_path: Path) -> None:
    workspace = Workspace(load_settings({"data_directory": str(tmp_path)}, {}))
    dataset = generate(workspace.store, 60)
    report = measure_adopting(workspace, dataset, alone=0.0)
    assert [row.name for row in workspace.jobs.classifiers(dataset) if row.active] == ["Candidate"]
    assert report.pairs == 60
    assert 0 < report.switched <= report.whole
    assert report.verdicts > 0
    assert report.read > 0
    assert report.mixed == 0
    assert workspace.summary(dataset).reviewed > 0
    assert "of another classifier" in report.table()
    workspace.store.close()
