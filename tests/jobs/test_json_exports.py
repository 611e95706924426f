"""Every format of export has the JSON that a caption came from, with the correction in it."""

from pathlib import Path

import pytest

from backend.datasets.export_formats import EXPORT_FORMATS
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.reading.json_captions import JSON_COLUMN
from backend.workspace import ExportChoice, QueueFilter, Workspace
from tests.datasets.folders import picture, write


@pytest.mark.parametrize(
    "format", [n for n, each in EXPORT_FORMATS.items() if each.contents is None]
)
def test_every_format_has_the_corrected_json(
    workspace: Workspace, tmp_path: Path, format: str
) -> None:
    text = '{"n": 1.0,  "caption": "A red dog.", "tags": ["red"]}'
    source = tmp_path / "source"
    for name in ("a", "b"):
        picture(source / f"{name}.png", (8, 8 if name == "a" else 9))
        write(source / f"{name}.txt", text)
    dataset = workspace.jobs.import_dataset(source).dataset_id
    first, _ = workspace.review.queue_page(QueueFilter(dataset, "all")).rows
    workspace.review.decide(first.pair_id, 0, "correction", "A blue dog.")
    out = tmp_path / "out"
    workspace.jobs.export(dataset, ExportChoice(), out, format)
    roots = (None, source)  # of formats with copies of the pictures, and without
    rows = next(filter(None, (list(read_dataset(out, ReadOptions(image_root=r))) for r in roots)))
    pairs = sorted(rows, key=lambda pair: pair.caption)
    assert [pair.caption for pair in pairs] == ["A blue dog.", "A red dog."]
    expected = [text.replace("A red", "A blue"), text]
    if format == "sidecar":
        texts = [file.read_text() for file in out.rglob("*.txt") if file.read_text()[0] == "{"]
        assert sorted(texts) == sorted(expected)
    else:
        assert [pair.extra[JSON_COLUMN] for pair in pairs] == expected
