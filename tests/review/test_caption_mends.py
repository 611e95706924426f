"""Mends that features and packages add, and those that cannot be used."""

from pathlib import Path

import pytest

from backend import plugins
from backend.errors import SettingsError
from backend.plugins import Plugin
from backend.review.caption_edits import change_each, edit_captions, find_mend
from backend.review.views import EditView
from backend.workspace import Workspace
from tests.datasets.folders import image_folder
from tests.jobs.opening import opened


def fails(caption: str) -> str:
    raise RuntimeError("no such word")


MENDS = {"shout": str.upper, "fails": fails, "nothing": lambda caption: None}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    rows = [{"file_name": "a.png", "caption": text} for text in ("a dog", "A CAT")]
    image_folder(tmp_path / "pairs", rows, ("a.png",))
    workspace = opened(tmp_path / "state")
    workspace.jobs.import_dataset(tmp_path / "pairs")
    loaded = (Plugin("mends", "mends", "words 1.0", MENDS),)
    monkeypatch.setattr(plugins, "_LOADED", plugins._LOADED | {"mends": loaded})
    return workspace


def edit(workspace: Workspace, name: str) -> EditView:
    queue = workspace.review.filter_of(1, {"review": "all"})
    return edit_captions(workspace.store, queue, change_each(find_mend(name)), "Ada")


def test_a_mend_changes_what_has_its_fault(workspace: Workspace) -> None:
    report = edit(workspace, "shout")
    assert [(each.before, each.after) for each in report.examples] == [("a dog", "A DOG")]
    assert report.unchanged == 1


@pytest.mark.parametrize("name", ["fails", "nothing", "unknown"])
def test_a_mend_that_cannot_be_used_is_named_and_changes_nothing(
    workspace: Workspace, name: str
) -> None:
    with pytest.raises(SettingsError, match=name):
        edit(workspace, name)
    assert not workspace.review.has_edit(1, "Ada")
