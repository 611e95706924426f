"""A compressed tar of pictures beside a table."""

import gzip
from pathlib import Path

from backend.workspace import Workspace
from tests.datasets.folders import encoded, json_lines, tar_bytes, write


def test_the_table_is_read_and_what_is_not_is_said(workspace: Workspace, tmp_path: Path) -> None:
    rows = [{"file_name": f"{name}.png", "caption": name} for name in "ab"]
    write(tmp_path / "set/metadata.jsonl", json_lines(rows))
    write(tmp_path / "set/b.png", encoded((8, 8)))
    write(tmp_path / "set/images.tar.gz", gzip.compress(tar_bytes([("a.png", encoded())])))
    report = workspace.jobs.import_dataset(tmp_path / "set")
    assert report.added == 1
    assert ["images.tar.gz" in problem.message for problem in report.first_problems] == [True]
