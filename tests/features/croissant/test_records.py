"""Croissant's reader gives the rows of every format as they were written."""

from pathlib import Path

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.writing.dataset_writer import FORMATS
from tests.datasets.folders import picture
from tests.datasets.writing.test_export_loaders import (
    OF_EVERY_PAIR,
    UNPACKED,
    check_json,
    source,
    write,
)
from tests.features.croissant.described import described_in
from tests.fixtures.sizes import Sizes

__all__ = ["source"]


@pytest.mark.parametrize("format", FORMATS)
def test_every_table_can_be_read_whatever_its_columns_are(
    source: Path, tmp_path: Path, format: str, sizes: Sizes
) -> None:
    sizes(SHARD=3)
    out = write(source, tmp_path / "out", format)
    described = described_in(out)
    assert not described.metadata.ctx.issues.errors
    for table in described.metadata.record_sets:
        assert list(described.records(table.id)), table.id
    check_json(out)


@pytest.mark.parametrize("format", OF_EVERY_PAIR)
def test_croissant_gives_every_text_as_it_was_written(
    tmp_path: Path, sizes: Sizes, format: str
) -> None:
    """Its reader has pandas guess the types of CSV and JSON lines."""
    sizes(SHARD=2)
    image = picture(tmp_path / "source" / "a.png")
    texts = {"0025": "NA", "1e3": "", "null": "None", "007": "2020-01-01", "True": "犬 🐕"}
    every = [ExportRow(id, image, text, text, "train", numbers={"s_0": 0.25}, extra={"zip": id})
             for id, text in texts.items()]  # fmt: skip
    out = write(tmp_path / "source", tmp_path / "out", format, every)
    described = described_in(out)
    (table,) = described.metadata.record_sets
    records = list(described.records(table.id))
    id = "pair_id" if format == "coco" else "id"
    for column, values in ((id, texts), ("caption", texts.values()), ("s_0", [0.25] * 5)):
        cells = [row[f"{table.id}/{column}"] for row in records]
        assert [c.decode() if isinstance(c, bytes) else c for c in cells] == list(values)
    if format in UNPACKED:
        assert [row[f"{table.id}/zip"].decode() for row in records] == list(texts)
