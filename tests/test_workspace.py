"""Datasets are opened by name and by path through the workspace."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.errors import DatasetNotFound, SettingsError
from backend.settings import load_settings
from backend.workspace import Workspace
from tests.datasets.folders import image_folder


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    opened = Workspace(load_settings({"data_directory": str(tmp_path / "state")}, {}))
    yield opened
    opened.store.close()


def folder(path: Path) -> Path:
    return image_folder(path, [{"file_name": "a.png", "caption": "A dog."}], ("a.png",))


def test_a_path_is_imported_once_and_found_again(workspace: Workspace, tmp_path: Path) -> None:
    path = folder(tmp_path / "one" / "pairs")
    first = workspace.find_or_import(str(path))
    assert workspace.find_or_import(str(path)) == first == workspace.find("pairs")
    assert len(workspace.datasets()) == 1


def test_another_folder_of_the_same_name_gets_a_different_name(
    workspace: Workspace, tmp_path: Path
) -> None:
    paths = [folder(tmp_path / where / "pairs") for where in ("one", "two", "three")]
    ids = [workspace.find_or_import(str(path)) for path in paths]
    assert [workspace.summary(i).name for i in ids] == ["pairs", "pairs-2", "pairs-3"]
    assert [workspace.find_or_import(str(path)) for path in paths] == ids
    with pytest.raises(SettingsError, match="still there"):
        workspace.jobs.import_dataset(paths[1], name="pairs")


def test_an_unknown_name_is_reported_with_the_datasets_that_exist(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.find_or_import(str(folder(tmp_path / "pairs")))
    with pytest.raises(DatasetNotFound, match="'pairs'"):
        workspace.find_or_import("nothing")
