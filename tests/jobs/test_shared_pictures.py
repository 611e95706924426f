"""Pictures with captions in several splits: told at import, counted on the
card of an export, and kept in one split if that is asked for."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from backend.jobs.export_choice import ExportChoice
from backend.jobs.shared_pictures import shared_pictures
from backend.workspace import Workspace
from db.queries import split_queries
from tests.datasets.folders import read
from tests.jobs.opening import opened

#: The picture, its split and its caption; "copy" has the bytes of "red".
ROWS: list[tuple[str, str | None, str]] = [
    ("red", "train", "A red square."), ("red", "test", "It is red."),
    ("copy", "validation", "Red, once more."),
    ("blue", None, "A blue square."), ("blue", "val", "It is blue."),
    ("green", "train", "A green square."), ("green", "train", "It is green."),
    ("yellow", "", "A yellow square."), ("yellow", "train", "It is yellow."),
    ("pink", "extra", "A pink square."), ("pink", "train", "It is pink."),
]  # fmt: skip
SHARED = {"test and train and validation": 1, "train and val": 1, "extra and train": 1}
#: The split of all pairs of each of these pictures, if they are kept together.
TOGETHER = {"red": "test", "copy": "test", "blue": "val", "pink": "extra"}


def written(folder: Path, rows: list[tuple[str, str | None, str]]) -> Path:
    folder.mkdir()
    lines = []
    for colour, split, caption in rows:
        if colour != "copy":
            Image.new("RGB", (8, 8), colour).save(folder / f"{colour}.png")
        lines.append(json.dumps({"file_name": f"{colour}.png", "caption": caption, "split": split}))
    (folder / "metadata.jsonl").write_text("\n".join(lines), encoding="utf-8")
    if (folder / "red.png").exists():
        shutil.copy(folder / "red.png", folder / "copy.png")
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = opened(tmp_path / "state")
    workspace.jobs.import_dataset(written(tmp_path / "pairs", ROWS))
    yield workspace
    workspace.store.close()


def test_pictures_are_compared_by_their_bytes(workspace: Workspace) -> None:
    assert shared_pictures(workspace.store, 1).by_splits == SHARED


def test_the_import_says_so(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "state")
    report = workspace.jobs.import_dataset(written(tmp_path / "leaking", ROWS))
    assert len(report.notes) == 1
    apart = workspace.jobs.import_dataset(written(tmp_path / "apart", ROWS[5:9]))
    assert apart.notes == ()
    workspace.store.close()


def export(workspace: Workspace, out: Path, **choice: Any) -> tuple[dict[str, str], str, Any]:
    """The split of each caption in an export, its card, and its counts."""
    report = workspace.jobs.export(1, ExportChoice(**choice), out, "webdataset")
    pairs, _ = read(out)
    return {pair.caption: pair.split or "" for pair in pairs}, report.card, report.counts


def test_an_export_counts_them_on_its_card(workspace: Workspace, tmp_path: Path) -> None:
    splits, card, counts = export(workspace, tmp_path / "out")
    assert (counts.shared_pictures, counts.moved) == (3, 0)
    assert "- Pictures in several splits: 3" in card
    assert splits["It is red."] == "test"
    assert workspace.jobs.export_counts(1, ExportChoice()).shared_pictures == 3


def test_an_export_keeps_the_pairs_of_a_picture_together(
    workspace: Workspace, tmp_path: Path
) -> None:
    splits, card, counts = export(workspace, tmp_path / "out", keep_pictures_together=True)
    for picture, _, caption in ROWS:
        assert (splits[caption] or "train") == TOGETHER.get(picture, "train")
    assert (counts.shared_pictures, counts.moved) == (0, 4)
    assert "Pictures in several splits" not in card
    preview = workspace.jobs.export_counts(1, ExportChoice(keep_pictures_together=True))
    assert (preview.shared_pictures, preview.moved) == (0, 4)


def test_a_dataset_of_one_split_is_not_searched(tmp_path: Path) -> None:
    workspace = opened(tmp_path / "state")
    workspace.jobs.import_dataset(written(tmp_path / "pairs", ROWS[5:7]))
    with workspace.store.reading() as session:
        assert not split_queries.has_several_splits(session, 1)
    assert shared_pictures(workspace.store, 1).pictures == 0
    workspace.store.close()
