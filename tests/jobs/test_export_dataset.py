"""Exports from the store: what they replace and what they keep."""

from pathlib import Path

import pytest

from backend.errors import ExportError
from backend.jobs.export_choice import ExportChoice
from backend.workspace import Workspace
from tests.datasets.folders import csv_file, dogs, picture
from tests.jobs.opening import OpenWorkspace


@pytest.fixture
def workspace(open_workspace: OpenWorkspace, tmp_path: Path) -> Workspace:
    workspace = open_workspace()
    workspace.jobs.import_dataset(dogs(tmp_path / "pairs", 3))
    return workspace


def again(workspace: Workspace, out: Path, format: str = "csv") -> None:
    workspace.jobs.export(1, ExportChoice(), out, format, overwrite=True)


def listing(folder: Path) -> dict[str, bytes]:
    return {str(p): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_an_export_that_was_imported_is_not_replaced(workspace: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "out"
    again(workspace, out, "imagefolder")
    again(workspace, out, "imagefolder")
    workspace.jobs.import_dataset(out, name="second")
    before = listing(out)
    with pytest.raises(ExportError, match="contains the images of the dataset 'second'"):
        again(workspace, out)
    assert listing(out) == before


@pytest.mark.parametrize("where", ["inside", "above"])
def test_a_folder_with_images_of_another_dataset_is_not_replaced(
    workspace: Workspace, tmp_path: Path, where: str
) -> None:
    out = tmp_path / "out"
    again(workspace, out)
    picture(out / "mine" / "b.png")
    place, image = {"inside": (out / "mine", "b.png"), "above": (tmp_path, "out/mine/b.png")}[where]
    table = csv_file(place / "t.csv", [{"id": "1", "caption": "A cat.", "image": image}])
    workspace.jobs.import_dataset(table, name="cats")
    before = listing(out)
    with pytest.raises(ExportError, match="contains the images of the dataset 'cats'"):
        again(workspace, out)
    assert listing(out) == before


def test_a_dataset_in_a_folder_with_a_similar_name_does_not_matter(
    workspace: Workspace, tmp_path: Path
) -> None:
    again(workspace, tmp_path / "out_1")
    picture(tmp_path / "out_12" / "b.png")
    rows = [{"id": "1", "caption": "A cat.", "image": "out_12/b.png"},
            {"id": "2", "caption": "A cat.", "image": "outx1/b.png"}]  # fmt: skip
    picture(tmp_path / "outx1" / "b.png")
    workspace.jobs.import_dataset(csv_file(tmp_path / "t.csv", rows), name="cats")
    again(workspace, tmp_path / "out_1")
