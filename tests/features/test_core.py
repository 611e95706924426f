"""What works with any feature and without: pairs of the demo, from import to export."""

from pathlib import Path

from backend.settings import load_settings
from backend.workspace import ExportChoice, Workspace
from tests.cli.invoking import invoked
from tests.fixtures.demo import demo_pairs, true_captions

PAIRS = 4


def test_pairs_of_the_demo_are_scored_reviewed_and_exported(tmp_path: Path) -> None:
    folder = demo_pairs(tmp_path / "pairs", true_captions(PAIRS))
    workspace = Workspace(load_settings({"data_directory": tmp_path / "state", "device": "cpu"}))
    dataset = workspace.jobs.import_dataset(folder).dataset_id
    assert workspace.jobs.score(dataset).scored == PAIRS
    review = workspace.review
    pair_id = review.first_pair(review.filter_of(dataset, {}))
    assert pair_id is not None
    view = review.open_pair(pair_id)
    assert view.opinion.trajectory is not None
    review.suggest(pair_id)
    review.decide(pair_id, view.verdict.version, "correct")
    report = workspace.jobs.export(dataset, ExportChoice(), tmp_path / "out", "csv")
    assert report.written == PAIRS


def test_the_help_reads_every_operation_and_command() -> None:
    status, text, _ = invoked({}, "--help")
    assert status == 0
    assert all(name in text for name in ("import", "score", "export"))
