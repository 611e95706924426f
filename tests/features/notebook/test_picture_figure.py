"""`NotebookPair.picture_figure`: a pair's picture with the regions of its suspect words."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from backend.errors import ImageError
from backend.features.notebook.display import NotebookDataset
from backend.workspace import Workspace
from tests.checkpoints import drawn_folder
from tests.fixtures.features import needs
from tests.jobs.opening import QUICK_CLIP, opened
from tests.traced_ui.samples import with_changes
from traced_ui import api

pytestmark = needs("regions")


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    base = tmp_path_factory.mktemp("picture-figure")
    workspace = opened(base / "state", **QUICK_CLIP, captioner="none")
    dataset = workspace.find_or_import(str(drawn_folder(base / "pairs", 6, 9)))
    workspace.jobs.score(dataset, suggestions=False)
    workspace.jobs.run("regions", dataset)
    yield workspace
    workspace.store.close()


def test_outlines_lie_on_the_picture_and_tell_their_words(workspace: Workspace) -> None:
    photos, outlines = NotebookDataset(workspace, 1), 0
    for pair_id in photos.scores().pair_id:
        pair = photos.pair(pair_id)
        figure = pair.picture_figure()
        (picture,) = figure.layout.images
        assert (picture.sizex, picture.sizey) == pair.view.picture.size
        assert picture.source.startswith("data:image/jpeg;base64,")
        hints = {(min(t.x), min(t.y), max(t.x), max(t.y), t.text) for t in figure.data}
        regions_of = api.answer_to("/pairs/{pair}/regions")
        assert regions_of is not None
        for region in regions_of(api.Caller(workspace), pair.view.pair_id):
            if region.box is None:
                assert region.word in figure.layout.title.text
                continue
            outlines += 1
            (text,) = (t for *box, t in hints if box == region.box and region.word in t)
            assert f"{region.weight:.2f}" in text
    assert outlines > 0


def test_a_small_outline_lies_above_a_large_one_and_words_are_no_markup(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plotly reads tags in titles and hover texts."""
    pair = NotebookDataset(workspace, 1).pair(1)
    rows = [
        SimpleNamespace(word="<b>dog</b>", box=[10, 10, 20, 20], weight=1.5),
        SimpleNamespace(word="<i>sea</i>", box=[0, 0, 90, 90], weight=0.5),
        SimpleNamespace(word="<a>cat</a>", box=None, weight=-2.0),
    ]
    monkeypatch.setattr(api, "answer_to", lambda _path: lambda _caller, _pair: rows)
    figure = pair.picture_figure()
    assert [trace.name for trace in figure.data] == [
        "&lt;i&gt;sea&lt;/i&gt;",
        "&lt;b&gt;dog&lt;/b&gt;",
    ]
    assert all("<" not in trace.text for trace in figure.data)
    assert "&lt;a&gt;cat&lt;/a&gt;" in figure.layout.title.text


def test_a_picture_that_cannot_be_shown_is_an_error(workspace: Workspace) -> None:
    pair = NotebookDataset(workspace, 1).pair(1)
    pair.view = with_changes(pair.view, size=None, problem="There is no file '1.jpg'.")
    with pytest.raises(ImageError):
        pair.picture_figure()
