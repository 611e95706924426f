"""Exports: whole or not at all, and readable again."""

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from backend.datasets import shard_writing
from backend.datasets.card import dataset_card
from backend.datasets.export_row import ExportRow
from backend.datasets.reading import read_dataset
from backend.datasets.shard_writing import image_and_ending
from backend.datasets.writing import FORMATS, write_dataset
from backend.errors import ExportError
from backend.views import ExportCounts
from tests.datasets.folders import picture

HOSTILE = ["A dog.", '=1+1, "quoted"\nnew line', "<b>bold</b> 🐕", "-dash", "犬 كلب"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for number in range(3):
        picture(tmp_path / "source" / f"deep {number}" / "same.png", (10 + number, 10))
    return tmp_path / "source"


def rows(source: Path) -> list[ExportRow]:
    return [
        ExportRow(
            f"id {i}", source / f"deep {i % 3}" / "same.png", text, "before", "train", "correct",
            0.25, 0.5, 0.75, ("abstract",), {"caption": "taken", "width": i},
        )
        for i, text in enumerate(HOSTILE)
    ]  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_written_is_read_again(source: Path, tmp_path: Path, format: str) -> None:
    out = tmp_path / "out"
    written = write_dataset(rows(source), out, format=format, card="# Card", source_root=source)
    assert written == len(HOSTILE)
    assert (out / "README.md").read_text() == "# Card"
    alone = next(out.glob("data.*"), None)
    reader = read_dataset(alone or out, image_root=source if alone else None)
    pairs = list(reader)
    assert reader.problems == []
    assert [pair.caption for pair in pairs] == HOSTILE
    assert [pair.id for pair in pairs] == [f"id {i}" for i in range(len(HOSTILE))]
    assert [image_and_ending(p.image_path)[0] for p in pairs] == [
        image_and_ending(row.image_path)[0] for row in rows(source)
    ]


def test_columns_of_the_source_never_overwrite_ours(source: Path, tmp_path: Path) -> None:
    write_dataset(rows(source), tmp_path / "o", format="jsonl", card="", source_root=source)
    line = json.loads((tmp_path / "o" / "data.jsonl").read_text().splitlines()[0])
    assert line["caption"] == "A dog."
    assert line["source_caption"] == "taken"
    assert line["p_error"] == 0.25
    write_dataset(rows(source), tmp_path / "p", format="parquet", card="", source_root=source)
    table = pq.read_table(tmp_path / "p" / "data.parquet")
    assert json.loads(table["extra"][1].as_py()) == {"caption": "taken", "width": 1}


def test_nothing_is_left_of_an_export_that_breaks_off(source: Path, tmp_path: Path) -> None:
    def broken() -> Iterator[ExportRow]:
        yield rows(source)[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_dataset(broken(), tmp_path / "o", format="jsonl", card="", source_root=source)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source"]


def test_an_export_that_breaks_off_keeps_the_earlier_one(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    write_dataset(rows(source), out, format="jsonl", card="first", source_root=source)
    with pytest.raises(ExportError, match="were counted"):
        write_dataset(
            rows(source)[:2], out, format="jsonl", card="second", overwrite=True,
            source_root=source, expected=5,
        )  # fmt: skip
    assert (out / "README.md").read_text() == "first"
    write_dataset(
        rows(source)[:2], out, format="csv", card="third", overwrite=True, source_root=source
    )
    assert (out / "README.md").read_text() == "third"
    assert not (out / "data.jsonl").exists()


def test_nothing_but_an_export_is_ever_replaced(source: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    for overwrite in (False, True):
        with pytest.raises(ExportError, match="other files"):
            write_dataset(
                rows(source), tmp_path / "mine", format="csv", card="", overwrite=overwrite,
                source_root=source,
            )  # fmt: skip
    with pytest.raises(ExportError, match=r"the dataset itself|other files"):
        write_dataset(
            rows(source), source, format="csv", card="", overwrite=True, source_root=source
        )
    write_dataset(rows(source), tmp_path / "o", format="csv", card="", source_root=source)
    with pytest.raises(ExportError, match="earlier export"):
        write_dataset(rows(source), tmp_path / "o", format="csv", card="", source_root=source)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"


def test_an_image_that_is_gone_stops_the_export(source: Path, tmp_path: Path) -> None:
    every = rows(source)
    (source / "deep 2" / "same.png").unlink()
    with pytest.raises(ExportError, match="is gone"):
        write_dataset(every, tmp_path / "o", format="imagefolder", card="", source_root=source)
    assert not (tmp_path / "o").exists()


def test_the_card_says_what_was_removed_and_why() -> None:
    counts = ExportCounts(10, 7, 2, 1, {"decided: wrong, drop": 3}, {"drop": 3, "undecided": 7})
    card = dataset_card(
        name="my <b>data</b>", created=datetime(2026, 1, 2, tzinfo=UTC), version="1.0",
        facts={"Model": "scenes-blip-itm"}, counts=counts,
    )  # fmt: skip
    assert "7 of 10" in card
    assert "left out, decided: wrong, drop | 3" in card
    assert "- Model: scenes-blip-itm" in card
    assert "<b>" not in card


@pytest.mark.parametrize("format", ["webdataset", "parquet-images", "huggingface"])
def test_an_export_in_shards_that_is_stopped_goes_on(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(shard_writing, "SHARD", 1)
    read: list[str] = []
    whole = shard_writing.image_and_ending

    def counted(image: Any) -> tuple[bytes, str]:
        read.append(str(image))
        return whole(image)

    monkeypatch.setattr(shard_writing, "image_and_ending", counted)

    def stopped() -> Iterator[ExportRow]:
        yield from rows(source)[:2]
        raise KeyboardInterrupt

    out = tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        write_dataset(stopped(), out, format=format, card="", source_root=source)
    assert not out.exists()
    assert len(read) == 2
    # As if another program had been killed: its number is given to none that runs.
    (half,) = (p for p in tmp_path.iterdir() if p.name.startswith("."))
    half.rename(half.with_name(half.name.replace(f"-{os.getpid()}-", "-999999999-")))
    every = rows(source)
    assert write_dataset(every, out, format=format, card="", source_root=source) == len(every)
    assert len(read) == len(every)  # none of them twice
    names = {path.name for path in out.rglob("*")}
    assert not [name for name in names if name.endswith((".half", ".finished"))]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]
    fresh = tmp_path / "fresh"
    write_dataset(every, fresh, format=format, card="", source_root=source)
    sums = [(f / "SHA256SUMS").read_text().splitlines() for f in (out, fresh)]
    # Hugging Face's library gives every dataset that it writes a fingerprint of its own.
    one, other = ([line for line in of if "state.json" not in line] for of in sums)
    assert one == other


def test_what_has_changed_since_is_written_anew(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_writing, "SHARD", 1)

    def stopped() -> Iterator[ExportRow]:
        yield from rows(source)
        raise KeyboardInterrupt

    out = tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        write_dataset(stopped(), out, format="webdataset", card="", source_root=source)
    fewer = [replace(rows(source)[0], caption="Another caption.")]
    write_dataset(fewer, out, format="webdataset", card="", source_root=source)
    (shard,) = out.glob("*.tar")
    with tarfile.open(shard) as archive:
        text = archive.extractfile("000000000.txt")
        assert text is not None
        assert text.read() == b"Another caption."
