"""`select`, and exports of what it keeps, as scripts use them."""

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from backend.errors import UnsafePath
from backend.features.selection.options import TwoStage
from backend.jobs.export_choice import ExportChoice
from backend.workspace import Workspace
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import image_folder
from tests.features.selection.test_selecting import COUNT
from tests.features.selection.test_selecting import score as save_scores
from tests.fixtures.features import needs
from tests.traced_ui.test_folders import secret, team

__all__ = ["team"]


@pytest.fixture
def sample(workspace: Workspace, tmp_path: Path) -> dict[str, str]:
    """Variables for the dataset *pairs* with simple scores: s decreases with the number of a pair,
    support increases."""
    rows = [
        {"id": str(i), "file_name": "a.png", "caption": f"a dog beside word{i:03d}"}
        for i in range(COUNT)
    ]
    workspace.jobs.import_dataset(image_folder(tmp_path / "pairs", rows, ("a.png",)))
    save_scores(workspace)
    return {"TRACED_DATA_DIRECTORY": str(tmp_path / "state"), "COLUMNS": "200"}


def exported(environment: dict[str, str], out: Path, *options: str) -> list[dict[str, Any]]:
    report = as_json(environment, "export", "pairs", str(out), "--format", "jsonl", *options)
    lines = (out / "data.jsonl").read_text().splitlines()
    assert report["written"] == report["counts"]["kept"] == len(lines)
    return [json.loads(line) for line in lines]


def numbers(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(int(row["id"]) for row in rows)


@needs("phrases")
def test_a_selection_is_a_view_that_can_be_exported(sample: dict[str, str], tmp_path: Path) -> None:
    status, printed, err = invoked(sample, "select", "pairs", "--dry-run")
    assert status == 0, err
    assert f"{COUNT} undecided pairs: 70 by match, 50 of them by support; 0 decided" in printed
    assert "Thresholds: s ≥ 0.31, support ≥ 2." in printed
    assert "Saved" not in printed
    status, _, err = invoked(sample, "export", "pairs", str(tmp_path / "x"), "--view", "selected")
    assert status != 0, "a dry run has saved no view"
    status, printed, err = invoked(sample, "--quiet", "select", "pairs")
    assert (status, err) == (0, "")
    assert "Saved as the view 'selected'." in printed
    assert numbers(exported(sample, tmp_path / "1", "--view", "selected")) == list(range(20, 70))
    options = ("--align", "0.5", "--keep", "0.2", "--by", "alignment", "--name", "best")
    report = as_json(sample, "select", "pairs", *options)
    assert (report["pool"], report["kept"], report["view"]) == (50, 20, "best")
    assert numbers(exported(sample, tmp_path / "2", "--view", "best")) == list(range(20))
    for wrong in (("--by", "luck"), ("--align", "2"), ("--split", "nothing")):
        status, printed, err = invoked(sample, "select", "pairs", *wrong)
        assert (status, printed) == (2, "")
        assert wrong[1] in err or wrong[0] in err


@needs("phrases")
def test_an_export_is_thinned_in_two_stages(sample: dict[str, str], tmp_path: Path) -> None:
    assert numbers(exported(sample, tmp_path / "1", "--align", "0.7")) == list(range(20, 70))
    by_match = ("--align", "0.5", "--keep", "0.3", "--by", "alignment")
    assert numbers(exported(sample, tmp_path / "2", *by_match)) == list(range(30))
    tagged = exported(sample, tmp_path / "3", *by_match, "--select", "tag")
    assert numbers(tagged) == list(range(COUNT))
    assert numbers([row for row in tagged if "selected" in row["tags"]]) == list(range(30))
    assert numbers([row for row in tagged if "left" in row["tags"]]) == list(range(30, COUNT))
    status, printed, err = invoked(sample, "export", "pairs", str(tmp_path / "4"), *by_match)
    assert status == 0, err
    assert "30 kept, 70 left out" in printed
    assert re.search(r"70 left out \(20 match [^;]*; 50 match in the lowest 50%\)\.", printed)
    assert "the 50% with the highest match, then 30% by alignment" in " ".join(
        (tmp_path / "4" / "README.md").read_text().split()
    )


@needs("shards")
def test_decisions_have_the_selection(sample: dict[str, str], tmp_path: Path) -> None:
    """The other options of `export` see what this one has made of its arguments."""
    out = tmp_path / "decisions.csv"
    options = ("--decisions", "--align", "0.5", "--keep", "0.3", "--by", "alignment")
    status, _, err = invoked(sample, "export", "pairs", str(out), *options)
    assert status == 0, err
    assert pd.read_csv(out).keep.sum() == 30


def test_new_splits_and_the_random_order_have_one_seed(
    sample: dict[str, str], tmp_path: Path
) -> None:
    def drawn(folder: str, *options: str) -> list[tuple[str, str]]:
        rows = exported(sample, tmp_path / folder, "--split", "80/20", *options)
        return [(row["id"], row["split"]) for row in rows]

    at_random = ("--align", "0.7", "--by", "random")
    assert len(drawn("1", "--seed", "3")) == COUNT
    assert drawn("2", *at_random, "--seed", "3") == drawn("3", *at_random, "--seed", "3")
    assert {row for row, _ in drawn("4", *at_random, "--seed", "4")} != {
        row for row, _ in drawn("5", *at_random, "--seed", "3")
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--by", "worst"), "go with --align or --keep"),
        (("--select", "tag"), "go with --align or --keep"),
        (("--align", "0.7", "--select", "burn"), "'leave out' or 'tag'"),
        (("--align", "0.7", "--by", "luck"), "luck"),
        (("--seed", "3"), "go with --align or --keep"),
    ],
)
def test_an_impossible_export_is_refused_with_the_reason(
    sample: dict[str, str], tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    status, printed, err = invoked(sample, "export", "pairs", str(tmp_path / "out"), *options)
    assert (status, printed) == (2, "")
    assert message in err
    assert not (tmp_path / "out").exists()


def test_scores_for_a_selection_are_read_from_the_folders_of_imports(
    team: Workspace, tmp_path: Path
) -> None:
    stages = TwoStage(scores=str(secret(tmp_path / "private")))
    for start in (
        partial(team.jobs.start, "select", 1, stages=stages),
        partial(team.jobs.start, "export", 1, choice=ExportChoice.parse({"two_stage": stages})),
    ):
        with pytest.raises(UnsafePath) as refused:
            start()
        assert "salary" not in str(refused.value)
