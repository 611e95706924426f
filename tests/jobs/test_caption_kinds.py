"""Captions of several kinds of a picture: filtered, shown with what the others say, exported."""

from pathlib import Path

import pytest

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.caption_fields import FIELD_COLUMN
from backend.datasets.reading.dataset_reader import read_dataset
from backend.workspace import ExportChoice, QueueFilter, Workspace
from tests.datasets.folders import csv_file, picture

ROW = {"file_name": "a.png", "long": "A red dog sits on grass.", "short": "A blue dog.",
       "wd14_tags": "dog, red"}  # fmt: skip


@pytest.fixture
def dataset(workspace: Workspace, tmp_path: Path) -> int:
    picture(tmp_path / "source" / "a.png")
    path = csv_file(tmp_path / "source" / "rows.csv", [ROW])
    options = ReadOptions(caption_column="long", caption_fields="all")
    return workspace.jobs.import_dataset(path, options=options).dataset_id


def test_a_queue_of_one_kind(workspace: Workspace, dataset: int) -> None:
    queue = workspace.review.filter_of(dataset, {"review": "all", "extra": f"{FIELD_COLUMN}=short"})
    (row,) = workspace.review.queue_page(queue).rows
    assert workspace.review.open_pair(row.pair_id).caption == ROW["short"]


def test_what_other_kinds_say_stands_beside_a_caption(workspace: Workspace, dataset: int) -> None:
    rows = workspace.review.queue_page(QueueFilter(dataset, "all")).rows
    views = [workspace.review.open_pair(row.pair_id) for row in rows]
    assert {each.caption_field for each in views[0].picture.captions} == {
        "long", "short", "wd14_tags",
    }  # fmt: skip
    short = next(view for view in views if view.caption == ROW["short"])
    assert [word.word for word in short.picture.contradictions] == ["blue"]


@pytest.mark.parametrize(
    "format", [name for name, each in EXPORT_FORMATS.items() if each.contents is None]
)
def test_every_format_has_each_under_its_own_name(
    workspace: Workspace, dataset: int, tmp_path: Path, format: str
) -> None:
    rows = workspace.review.queue_page(QueueFilter(dataset, "all")).rows
    for row in rows:
        if row.caption == ROW["short"]:
            workspace.review.decide(row.pair_id, 0, "correction", "A red dog.")
    out = tmp_path / "out"
    workspace.jobs.export(dataset, ExportChoice(), out, format)
    roots = (None, tmp_path / "source")  # of formats with copies of the pictures, and without
    pairs = next(filter(None, (list(read_dataset(out, ReadOptions(image_root=r))) for r in roots)))
    by_kind = {pair.extra[FIELD_COLUMN]: pair for pair in pairs}
    expected = {"long": ROW["long"], "short": "A red dog.", "wd14_tags": ROW["wd14_tags"]}
    assert {kind: pair.caption for kind, pair in by_kind.items()} == expected
    assert {kind: pair.extra[kind] for kind, pair in by_kind.items()} == expected
