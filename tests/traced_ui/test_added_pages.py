"""Pages that features and packages add: listed, built, and left out with a reason if they cannot
be."""

from collections.abc import Iterator
from importlib import reload
from pathlib import Path

import gradio as gr
import pytest

from backend import plugins
from backend.workspace import Workspace
from tests.datasets.folders import picture, write
from tests.traced_ui.conftest import workspace_in
from tests.traced_ui.test_verdicts_to_go import functions_named
from traced_ui import layout, rooms
from traced_ui.page_dataset import PageDataset
from traced_ui.pages import AddedPage, Page


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[AddedPage]]:
    """Pages that `rooms` finds when it is loaded anew."""
    pages: list[AddedPage] = []

    def load(group: str, kind: type, join: object = None) -> tuple[AddedPage, ...]:
        if group != "pages":
            return ()
        joined = []
        for page in pages:
            try:
                join(page)  # pyrefly: ignore[not-callable]
                joined.append(page)
            except ValueError:
                continue
        return tuple(joined)

    monkeypatch.setattr(plugins, "load", load)
    yield pages
    monkeypatch.undo()
    reload(rooms)
    reload(layout)


def counts(workspace: Workspace, dataset: PageDataset) -> None:
    gr.HTML(f"{len(workspace.datasets())} datasets")


def fails(workspace: Workspace, dataset: PageDataset) -> None:
    raise RuntimeError("no such table")


def test_a_page_is_listed_in_its_room_and_has_an_address(added: list[AddedPage]) -> None:
    added.append(AddedPage(Page("counts", "Counts"), "Improve", counts))
    reload(rooms)
    room = rooms.room_of(added[0].page)
    assert room is not None
    assert (room.title, room.pages[-1]) == ("Improve", added[0].page)
    assert "/counts" in rooms.PATHS


@pytest.mark.parametrize(
    ("name", "room"),
    [("export", "Improve"), ("api", "Improve"), ("counts", "Nowhere"), ("Counts!", "Improve"),
     ("twice", "Improve")],
)  # fmt: skip
def test_a_page_that_cannot_be_is_left_out_and_no_other(
    added: list[AddedPage], name: str, room: str
) -> None:
    added += [
        AddedPage(Page("twice", "First"), "Improve", counts),
        AddedPage(Page(name, "Second"), room, counts),
    ]
    reload(rooms)
    assert [each.page.title for each in rooms.ADDED.values()] == ["First"]
    assert len({page.path for page in rooms.PAGES}) == len(rooms.PAGES)


def test_a_page_that_cannot_be_built_says_so_and_the_others_are_there(
    added: list[AddedPage], workspace: Workspace
) -> None:
    added += [
        AddedPage(Page("broken", "Broken"), "Improve", fails),
        AddedPage(Page("counts", "Counts"), "Improve", counts),
    ]
    reload(rooms)
    blocks = reload(layout).build(workspace, None)
    texts = [str(block.value) for block in blocks.blocks.values() if isinstance(block, gr.HTML)]
    assert [text for text in texts if "This page cannot be shown" in text]
    assert f"{len(workspace.datasets())} datasets" in texts


def test_a_page_about_a_dataset_says_so_if_there_is_none(tmp_path: Path) -> None:
    empty = workspace_in(tmp_path)
    blocks = layout.build(empty, None)
    answers = [opened(None)[1] for opened in functions_named(blocks, "open_or_first")]
    shown = [each.value for each in answers if isinstance(each, gr.HTML)]
    assert len(shown) == sum(
        page.name == "guidelines" or rooms.room_of(page) not in (None, rooms.DATASET)
        for page in rooms.PAGES
        if page != rooms.REVIEW
    )
    assert all('data-page="datasets"' in text for text in shown)
    empty.jobs.import_dataset(pair_folder(tmp_path))
    for opened in functions_named(blocks, "open_or_first"):
        assert opened(None)[0] == 1
        assert not isinstance(opened(None)[1], gr.HTML)
    empty.store.close()


def pair_folder(folder: Path) -> Path:
    picture(folder / "pairs" / "a.png")
    write(folder / "pairs" / "a.txt", "a dog")
    return folder / "pairs"
