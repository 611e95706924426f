"""`NotebookPair.picture_figure`: a pair's picture with the regions of its suspect words."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from backend.errors import ImageError
from backend.features.notebook.display import NotebookDataset
from backend.workspace import Workspace
from db.queries.region_queries import RegionRow
from tests.checkpoints import drawn_folder
from tests.jobs.opening import QUICK_CLIP, opened
from tests.traced_ui.samples import with_changes


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
        for region in workspace.review.regions(pair.view.pair_id):
            word = pair.view.caption[region.start : region.end]
            if region.box is None:
                assert word in figure.layout.title.text
                continue
            outlines += 1
            (text,) = (text for *box, text in hints if tuple(box) == region.box and word in text)
            assert f"{region.weight:.2f}" in text
    assert outlines > 0


def test_a_small_outline_lies_above_a_large_one_and_words_are_no_markup(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plotly reads tags in titles and hover texts."""
    pair = NotebookDataset(workspace, 1).pair(1)
    pair.view = replace(pair.view, caption="<b>dog</b> <i>sea</i> <a>cat</a>")
    rows = (
        RegionRow(0, 10, (10.0, 10.0, 20.0, 20.0), 1.5),
        RegionRow(11, 21, (0.0, 0.0, 90.0, 90.0), 0.5),
        RegionRow(22, 32, None, -2.0),
    )
    monkeypatch.setattr(workspace.review, "regions", lambda pair_id: rows)
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
