"""Datasets whose images are in shards, through import, pictures, verdicts and export."""

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from backend.datasets.reading.dataset_reader import read_dataset
from backend.errors import ExportError, ImageError
from backend.jobs.export_choice import ExportChoice
from backend.workspace import QueueFilter, Workspace
from tests.datasets.folders import encoded, make_tar


def a_tar(folder: Path) -> Path:
    members = {}
    for n in range(6):
        members[f"{n:03d}.png"] = encoded((20 + n, 10))
        members[f"{n:03d}.txt"] = f"caption {n}".encode()
    make_tar(folder / "train-000.tar", members)
    return folder


def a_parquet(folder: Path) -> Path:
    folder.mkdir()
    table = pa.table(
        {
            "id": [f"{n:03d}" for n in range(6)],
            "image": [{"bytes": encoded((20 + n, 10)), "path": f"{n}.png"} for n in range(6)],
            "caption": [f"caption {n}" for n in range(6)],
        }
    )
    pq.write_table(table.slice(0, 4), folder / "train-00000-of-00002.parquet")
    pq.write_table(table.slice(4), folder / "train-00001-of-00002.parquet")
    return folder


@pytest.mark.parametrize("make", [a_tar, a_parquet])
def test_from_shards_to_shards(workspace: Workspace, tmp_path: Path, make: object) -> None:
    assert callable(make)
    report = workspace.jobs.import_dataset(make(tmp_path / "in"), name="in")
    assert (report.added, report.problems) == (6, 0)
    rows = workspace.review.queue_page(QueueFilter(report.dataset_id, order="position")).rows
    for row in rows:
        with Image.open(io.BytesIO(workspace.review.thumbnail(row.pair_id, 400))) as shown:
            assert shown.size == (20 + int(row.external_id), 10)
    last = {row.external_id: row for row in rows}
    workspace.review.decide(last["002"].pair_id, 0, "drop")
    workspace.review.decide(last["004"].pair_id, 0, "correction", " a better  caption")
    done = workspace.jobs.export(report.dataset_id, ExportChoice(), tmp_path / "out", "webdataset")
    assert done.written == 5
    pairs = {pair.id: pair for pair in read_dataset(tmp_path / "out")}
    assert set(pairs) == {"000", "001", "003", "004", "005"}
    assert pairs["004"].caption == "a better  caption"
    assert pairs["000"].caption == "caption 0"
    again = workspace.jobs.import_dataset(tmp_path / "out", name="again")
    assert (again.added, again.problems) == (5, 0)


def coloured_parquet(folder: Path, ids: str) -> Path:
    """Rows whose picture is as wide as 20 more than the id, which is also the caption."""
    folder.mkdir(exist_ok=True)
    table = pa.table(
        {
            "id": list(ids),
            "image": [{"bytes": encoded((20 + int(n), 10)), "path": f"{n}.png"} for n in ids],
            "caption": list(ids),
        }
    )
    pq.write_table(table, folder / "train.parquet")
    return folder


def test_a_rewritten_source_shows_no_other_picture(workspace: Workspace, tmp_path: Path) -> None:
    source = coloured_parquet(tmp_path / "in", "12345")
    report = workspace.jobs.import_dataset(source, name="in")
    rows = workspace.review.queue_page(QueueFilter(report.dataset_id, order="position")).rows
    coloured_parquet(source, "912345")
    for row in rows:
        with pytest.raises(ImageError, match="changed"):
            workspace.review.thumbnail(row.pair_id, 400)
        assert workspace.review.open_pair(row.pair_id).picture.size is None
    with pytest.raises(ExportError, match="changed"):
        workspace.jobs.export(report.dataset_id, ExportChoice(), tmp_path / "out", "webdataset")
    # Another import finds the known ids at their new rows.
    again = workspace.jobs.import_dataset(source, name="in")
    assert (again.added, again.already_there) == (1, 5)
    rows = workspace.review.queue_page(QueueFilter(report.dataset_id, order="position")).rows
    for row in rows:
        size = workspace.review.open_pair(row.pair_id).picture.size
        assert size == (20 + int(row.external_id), 10)
    done = workspace.jobs.export(report.dataset_id, ExportChoice(), tmp_path / "out", "webdataset")
    assert done.written == 6
    first = next(row for row in rows if row.external_id == "1")
    # The id of another picture is not the imported pair any more.
    coloured = coloured_parquet(tmp_path / "other", "9")
    table = pq.read_table(coloured / "train.parquet")
    pq.write_table(table.set_column(0, "id", pa.array(["1"])), source / "train.parquet")
    workspace.jobs.import_dataset(source, name="in")
    with pytest.raises(ImageError):
        workspace.review.thumbnail(first.pair_id, 400)


def test_a_missing_shard_is_reported(workspace: Workspace, tmp_path: Path) -> None:
    report = workspace.jobs.import_dataset(a_tar(tmp_path / "in"))
    (tmp_path / "in" / "train-000.tar").unlink()
    (row, *_) = workspace.review.queue_page(QueueFilter(report.dataset_id)).rows
    with pytest.raises(ImageError):
        workspace.review.thumbnail(row.pair_id)
    assert workspace.review.open_pair(row.pair_id).picture.size is None
