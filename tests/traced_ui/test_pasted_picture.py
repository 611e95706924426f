"""A picture that is pasted on Review finds pairs with pictures like it."""

import base64
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from backend.workspace import QueueFilter, Workspace
from tests.checkpoints import drawn_folder, drawn_pairs
from tests.jobs.opening import opened, score_pairs
from tests.traced_ui.pages import Page

PAIRS = 12


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    base = tmp_path_factory.mktemp("pasted")
    captions = [caption for _, caption in drawn_pairs(PAIRS, seed=3)]
    drawn_folder(base / "pairs", PAIRS, 3, lambda number, _: {"caption": captions[number]})
    made = opened(score_pairs(base, detector="nine signs") / "state")
    yield made
    made.store.close()


def as_text(image: Image.Image) -> str:
    into = io.BytesIO()
    image.save(into, "JPEG", quality=90)
    return base64.b64encode(into.getvalue()).decode()


def picture_of(workspace: Workspace, pair: int) -> Image.Image:
    return Image.open(str(workspace.review.image_path(pair))).convert("RGB")


def test_the_pair_with_the_same_picture_comes_first(workspace: Workspace) -> None:
    ids = [row.pair_id for row in workspace.review.queue_page(QueueFilter(1, "all")).rows]
    page = Page(workspace)
    before = page.pair
    for pair in ids[:3]:
        page.press("find-picture", text=as_text(picture_of(workspace, pair)))
        assert page.pair == pair
        assert page.listed[0] == pair
        assert set(page.listed) == set(ids)
        assert 'data-action="clear-search"' in page.shown["queue"]
    page.press("clear-search")
    assert page.pair == before
    assert page.state.found == []


def test_another_filter_leaves_them(workspace: Workspace) -> None:
    page = Page(workspace)
    page.press("find-picture", text=as_text(Image.new("RGB", (40, 30), "red")))
    assert page.state.found
    page.send("filter", filter={"review": "all", "order": "position"})
    assert page.state.found == []


@pytest.mark.parametrize("text", ["", "no base64!", base64.b64encode(b"no picture").decode()])
def test_what_is_no_picture_is_said_and_changes_nothing(workspace: Workspace, text: str) -> None:
    page = Page(workspace)
    before = page.state.model_copy(deep=True)
    assert "error" in page.press("find-picture", text=text)
    assert (page.state.filter, page.state.pair) == (before.filter, before.pair)


def test_a_dataset_without_scores_says_so(tmp_path: Path) -> None:
    drawn_folder(tmp_path / "pairs", 3, 3, lambda number, _: {"caption": f"a {number}"})
    made = opened(tmp_path / "state")
    made.jobs.import_dataset(tmp_path / "pairs")
    page = Page(made)
    assert "error" in page.press("find-picture", text=as_text(Image.new("RGB", (9, 9))))
    assert page.state.found == []
    made.store.close()
