"""Near duplicates of one picture, as a queue, a button and an answer of the API."""

import json
from collections.abc import Iterator

import pytest

from backend.errors import SettingsError
from backend.workspace import Workspace
from tests.checkpoints import drawn_folder
from tests.jobs.opening import QUICK_CLIP, opened
from tests.traced_ui.pages import Page
from traced_ui.api import Caller, similar


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """The last of its pairs has the picture of the first."""
    base = tmp_path_factory.mktemp("alike")
    folder = drawn_folder(base / "pairs", 6, 9)
    table = folder / "metadata.jsonl"
    lines = table.read_text().splitlines()
    lines.append(json.dumps({**json.loads(lines[0]), "id": "copy"}))
    table.write_text("\n".join(lines))
    workspace = opened(base / "state", **QUICK_CLIP, captioner="none")
    workspace.jobs.score(workspace.find_or_import(str(folder)), suggestions=False)
    yield workspace
    workspace.store.close()


def test_only_pictures_that_are_nearly_the_same_are_found(workspace: Workspace) -> None:
    every = workspace.review.search(1, like="image:1")
    near = workspace.review.search(1, like="duplicate:1")
    assert every is not None
    assert near is not None
    assert set(near[:2]) == {1, 7}
    assert near == every[: len(near)]
    assert len(near) < len(every)
    assert tuple(similar(Caller(workspace), 1, "duplicate")) == near
    with pytest.raises(SettingsError, match=r"image, .*duplicate"):
        workspace.review.search(1, like="twin:1")


def test_the_page_has_its_button_and_says_what_they_have_in_common(workspace: Workspace) -> None:
    page = Page(workspace)
    page.send("open", target=1)
    assert page.shown["steps"].count('data-action="near-duplicates"') == 1
    page.press("near-duplicates")
    assert page.state.filter["like"] == "duplicate:1"
    assert "near duplicates of" in page.shown["queue"]
