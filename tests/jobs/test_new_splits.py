"""New splits of an export: shares, seed, and what belongs together."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backend.errors import SettingsError
from backend.jobs.export_choice import ExportChoice, NewSplits
from backend.workspace import Workspace
from tests.cli.invoking import as_json, invoked
from tests.datasets.folders import image_folder, picture
from tests.db.building import decide
from tests.jobs.opening import OpenWorkspace

PICTURES, CAPTIONS = 50, 2


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    """Two captions a picture, five pictures a scene; all in the source's split `train`."""
    workspace = open_workspace()
    rows = [
        {"file_name": f"{place:02d}.png", "id": f"{place}-{number}", "split": "train",
         "caption": f"Caption {number} of picture {place}.", "scene": f"scene {place // 5}"}
        for place in range(PICTURES) for number in range(CAPTIONS)
    ]  # fmt: skip
    image_folder(tmp_path / "pairs", rows, ())
    for number in range(PICTURES):  # unlike ones, for pictures are known by their bytes
        picture(tmp_path / "pairs" / f"{number:02d}.png", (10 + number, 10))
    workspace.jobs.import_dataset(tmp_path / "pairs")
    return workspace


def splits(workspace: Workspace, out: Path, **new: Any) -> dict[str, str]:
    """The split of each pair of an export, by its id."""
    choice = ExportChoice(new_splits=NewSplits.parse(new))
    counts = workspace.jobs.export_counts(1, choice)
    report = workspace.jobs.export(1, choice, out, "jsonl")
    assert dict(report.counts.by_split) == dict(counts.by_split), "the preview is what is written"
    rows = [json.loads(line) for line in (out / "data.jsonl").read_text("utf-8").splitlines()]
    return {row["id"]: row["split"] for row in rows}


def are_together(by_id: dict[str, str], group_of: Callable[[int], object]) -> bool:
    found = defaultdict(set)
    for id, split in by_id.items():
        found[group_of(int(id.split("-")[0]))].add(split)
    return all(len(each) == 1 for each in found.values())


def test_shares_are_met_and_pictures_are_together(workspace: Workspace, tmp_path: Path) -> None:
    by_id = splits(workspace, tmp_path / "one", shares="80/10/10", seed=7)
    assert Counter(by_id.values()) == {"train": 80, "validation": 10, "test": 10}
    assert are_together(by_id, lambda picture: picture)
    assert splits(workspace, tmp_path / "again", shares="80/10/10", seed=7) == by_id
    assert splits(workspace, tmp_path / "other", shares="80/10/10", seed=8) != by_id
    two = splits(workspace, tmp_path / "two", shares="9/1")
    assert Counter(two.values()) == {"train": 90, "test": 10}
    assert "80/10/10" in (tmp_path / "one" / "README.md").read_text("utf-8")


def test_a_column_stays_together(workspace: Workspace, tmp_path: Path) -> None:
    by_id = splits(workspace, tmp_path / "out", shares="60/20/20", together=["scene"])
    assert are_together(by_id, lambda picture: picture // 5)
    assert Counter(by_id.values()) == {"train": 60, "validation": 20, "test": 20}


def test_what_is_left_out_counts_for_no_share_and_joins_no_groups(
    workspace: Workspace, tmp_path: Path
) -> None:
    store = workspace.store.opened
    for pair_id in range(1, 51):
        decide(store, pair_id, "drop")
    by_id = splits(workspace, tmp_path / "out", shares="80/10/10")
    assert Counter(by_id.values()) == pytest.approx(
        {"train": 40, "validation": 5, "test": 5}, abs=1
    )


@pytest.mark.parametrize("shares", ["", "80", "80/x", "80/0/20", "1/2/3/4", "-1/2", "80 / 20"])
def test_what_are_no_shares(shares: str) -> None:
    with pytest.raises(SettingsError):
        NewSplits.parse({"shares": shares})


def test_a_column_that_no_pair_has_is_named(workspace: Workspace, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="'place'"):
        splits(workspace, tmp_path / "out", shares="50/50", together=["place"])


def test_the_command_draws_splits_of_one_split(workspace: Workspace, tmp_path: Path) -> None:
    """`--split` names splits of the source, and shares of new ones; both may be given."""
    environment = {"TRACED_DATA_DIRECTORY": str(workspace.settings.data_directory)}
    out = tmp_path / "out"
    words = ("export", "pairs", str(out), "--format", "jsonl", "--split", "train",
             "--split", "80/10/10", "--seed", "7", "--together", "picture,scene")  # fmt: skip
    assert as_json(environment, *words)["counts"]["by_split"] == {
        "train": 80, "validation": 10, "test": 10,
    }  # fmt: skip
    status, _, err = invoked(environment, "export", "pairs", "x", "--together", "scene")
    assert (status, "--split" in err) == (2, True)
