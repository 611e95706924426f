"""What works with any feature and without: pairs of the demo, from import to export."""

import itertools
import json
import shutil
from pathlib import Path

from backend.bundled import DEMO
from backend.settings import load_settings
from backend.workspace import ExportChoice, Workspace
from tests.cli.invoking import invoked


def test_pairs_of_the_demo_are_scored_reviewed_and_exported(tmp_path: Path) -> None:
    with (DEMO / "metadata.jsonl").open(encoding="utf-8") as file:
        pairs = [json.loads(line) for line in itertools.islice(file, 4)]
    folder = tmp_path / "pairs"
    (folder / "images").mkdir(parents=True)
    for pair in pairs:
        shutil.copy(DEMO / pair["file_name"], folder / "images")
    (folder / "metadata.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    workspace = Workspace(load_settings({"data_directory": tmp_path / "state", "device": "cpu"}))
    dataset = workspace.jobs.import_dataset(folder).dataset_id
    assert workspace.jobs.score(dataset).scored == len(pairs)
    review = workspace.review
    pair_id = review.first_pair(review.filter_of(dataset, {}))
    assert pair_id is not None
    view = review.open_pair(pair_id)
    assert view.opinion.trajectory is not None
    review.suggest(pair_id)
    review.decide(pair_id, view.verdict.version, "correct")
    report = workspace.jobs.export(dataset, ExportChoice(), tmp_path / "out", "csv")
    assert report.written == len(pairs)


def test_the_help_reads_every_operation_and_command() -> None:
    status, text, _ = invoked({}, "--help")
    assert status == 0
    assert all(name in text for name in ("import", "score", "export"))
