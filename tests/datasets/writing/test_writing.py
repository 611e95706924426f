"""Exports: complete or not at all, and readable again."""

import hashlib
import itertools
import os
import re
import socket
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backend.datasets.export_row import ExportRow
from backend.datasets.writing import shard_writing
from backend.datasets.writing.card import dataset_card
from backend.datasets.writing.dataset_writer import write_dataset
from backend.errors import ExportError
from backend.jobs.export_reports import ExportCounts
from tests.datasets.folders import picture, write
from tests.fixtures.sizes import Sizes

COUNTS = ExportCounts(10, 7, 2, 1, {"decided: removed": 3}, {"drop": 3, "undecided": 7})
CREATED = datetime(2026, 1, 2, tzinfo=UTC)
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
            {"p_error": 0.25, "s_0": 0.5, "icc": 0.75}, ("abstract",),
            {"caption": "taken", "width": i},
        )
        for i, text in enumerate(HOSTILE)
    ]  # fmt: skip


def export(
    source: Path,
    out: Path,
    format: str = "csv",
    card: str = "x",
    every: Iterable[ExportRow] | None = None,
) -> int:
    """Export the rows, or these; replaces an earlier export."""
    return write_dataset(
        rows(source) if every is None else every, out, format=format, card=card, overwrite=True,
        source_root=source,
    )  # fmt: skip


def ends(every: list[ExportRow], problem: type[BaseException]) -> Iterator[ExportRow]:
    """The rows, and then this problem."""
    yield from every
    raise problem("meanwhile")


def test_an_export_that_fails_leaves_nothing_or_the_earlier_one(
    source: Path, tmp_path: Path
) -> None:
    out, failing = tmp_path / "o", rows(source)[:1]
    with pytest.raises(KeyboardInterrupt):
        export(source, out, "jsonl", every=ends(failing, KeyboardInterrupt))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source"]
    export(source, out, "jsonl", card="first")
    with pytest.raises(ExportError, match="meanwhile"):
        export(source, out, "jsonl", card="second", every=ends(failing, ExportError))
    assert (out / "README.md").read_text().startswith("first\n")
    export(source, out, card="third", every=rows(source)[:2])
    assert (out / "README.md").read_text().startswith("third\n")
    assert not (out / "data.jsonl").exists()


def test_only_an_export_is_ever_replaced(source: Path, tmp_path: Path) -> None:
    thesis = write(tmp_path / "mine" / "thesis.txt", "years of work")

    def put(out: Path, overwrite: bool) -> None:
        write_dataset(
            rows(source), out, format="csv", card="", overwrite=overwrite, source_root=source
        )

    for overwrite in (False, True):
        with pytest.raises(ExportError, match="other files"):
            put(thesis.parent, overwrite)
    with pytest.raises(ExportError, match=r"the dataset itself|other files"):
        put(source, True)
    put(tmp_path / "o", False)
    with pytest.raises(ExportError, match="earlier export"):
        put(tmp_path / "o", False)
    assert thesis.read_text() == "years of work"


def test_foreign_files_survive_the_next_export(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    export(source, out, "imagefolder", card="first")
    mine = {
        "notes.txt": b"mine", "train/images/deep 0/mine.png": b"a picture", "own/deep/x.bin": b"\0",
        "back\\slash\nline": b"odd",
    }  # fmt: skip
    for name, content in mine.items():
        write(out / name, content)
    (out / "empty").mkdir()
    (out / "link").symlink_to(source)
    for format in ("csv", "webdataset", "imagefolder"):
        export(source, out, format)
        assert {name: (out / name).read_bytes() for name in mine} == mine
        assert (out / "link").is_symlink()
        assert (out / "empty").is_dir()
        assert "notes.txt" not in (out / "SHA256SUMS").read_text("utf-8")
    assert not (out / "data.csv").exists()
    assert not list(out.glob("*.tar"))
    assert len(list(source.rglob("*.png"))) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]


def test_a_changed_or_conflicting_file_stops_the_export(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    export(source, out)
    (out / "data.jsonl").write_text("mine")
    with pytest.raises(ExportError, match=r"data\.jsonl.*not part of the earlier export"):
        export(source, out, "jsonl")
    assert (out / "data.jsonl").read_text() == "mine"
    (out / "data.csv").write_text("worked over by hand")
    with pytest.raises(ExportError, match=r"data\.csv.*was changed after it was exported"):
        export(source, out)
    assert (out / "data.csv").read_text() == "worked over by hand"
    (out / "SHA256SUMS").unlink()
    with pytest.raises(ExportError, match="has lost its SHA256SUMS"):
        export(source, out)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]


#: What may be in an earlier export of a table, at a path that the next one needs.
IN_THE_WAY: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "folder": ("data.jsonl", lambda path: write(path / "mine", "mine"), "jsonl"),
    "empty folder": ("data.jsonl", Path.mkdir, "jsonl"),
    "file": ("train", lambda path: path.write_text("mine"), "imagefolder"),
    "link to a folder": ("train", lambda path: path.symlink_to("../victim"), "imagefolder"),
    "link to nothing": ("data.jsonl", lambda path: path.symlink_to("nowhere"), "jsonl"),
    "pipe": ("data.jsonl", os.mkfifo, "jsonl"),
}


@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_a_conflicting_file_stays_and_no_partial_export_is_left(
    source: Path, tmp_path: Path, kind: str
) -> None:
    thesis, out = write(tmp_path / "victim" / "thesis.txt", "years of work"), tmp_path / "o"
    name, make, format = IN_THE_WAY[kind]
    export(source, out)
    make(out / name)
    for _ in range(2):
        with pytest.raises(ExportError, match=f"'{name}.* is not part of the earlier export"):
            export(source, out, format)
    assert (out / "data.csv").is_file()
    assert os.path.lexists(out / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source", "victim"]
    assert thesis.read_text() == "years of work"


@pytest.mark.timeout(20)
def test_an_exported_file_replaced_by_a_pipe_or_link_stops_the_export(
    source: Path, tmp_path: Path
) -> None:
    for number, make in enumerate((os.mkfifo, lambda path: path.symlink_to(tmp_path / "same"))):
        out = tmp_path / f"o{number}"
        export(source, out)
        (out / "data.csv").rename(tmp_path / "same")
        make(out / "data.csv")
        with pytest.raises(ExportError, match=r"data\.csv.*was changed"):
            export(source, out, "jsonl")
        assert os.path.lexists(out / "data.csv")


def test_regenerated_checksums_do_not_expose_foreign_files(source: Path, tmp_path: Path) -> None:
    """`sha256sum * > SHA256SUMS` also lists files that are not the export's."""
    out = tmp_path / "o"
    export(source, out)
    (out / "notes.txt").write_text("mine")
    with (out / "SHA256SUMS").open("a") as sums:
        sums.write(f"{hashlib.sha256(b'mine').hexdigest()}  notes.txt\n")
    with pytest.raises(ExportError, match=r"'SHA256SUMS' in .* was changed"):
        export(source, out)
    assert (out / "notes.txt").read_text() == "mine"


def test_folders_that_only_look_like_leftovers_are_kept(source: Path, tmp_path: Path) -> None:
    killed = f"999999999-{socket.gethostname()}"
    victim = write(tmp_path / "victim" / "mine", "mine")
    notes = write(tmp_path / f".o.notes-{killed}" / "mine", "mine")
    links = [tmp_path / f".o.{what}-{killed}" for what in ("old", "part.csv", "part.webdataset")]
    for link in links:
        link.symlink_to(victim.parent)
    for format in ("csv", "webdataset"):
        export(source, tmp_path / "o", format)
    assert victim.is_file()
    assert notes.is_file()
    assert all(link.is_symlink() for link in links)


def test_a_killed_replacement_loses_no_foreign_files(source: Path, tmp_path: Path) -> None:
    """Killed after the renaming: the earlier export, with foreign files, is next to the new one."""
    out = tmp_path / "o"
    export(source, out)
    (out / "notes.txt").write_text("mine")
    out.rename(tmp_path / f".o.old-999999999-{socket.gethostname()}")
    export(source, tmp_path / "p", "jsonl")
    (tmp_path / "p").rename(out)
    export(source, out, "parquet")
    assert (out / "notes.txt").read_text() == "mine"
    assert not (out / "data.csv").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]


def test_a_missing_image_stops_the_export(source: Path, tmp_path: Path) -> None:
    every = rows(source)
    (source / "deep 2" / "same.png").unlink()
    with pytest.raises(ExportError, match="is gone"):
        export(source, tmp_path / "o", "imagefolder", every=every)
    assert not (tmp_path / "o").exists()


def test_the_card_says_what_was_removed_and_why() -> None:
    card = dataset_card(
        name="my <b>data</b>", created_at=CREATED, version="1.0",
        facts={"Model": "scenes-blip-itm"}, counts=COUNTS,
    )  # fmt: skip
    assert "7 of 10" in card
    assert "left out, decided: removed | 3" in card
    assert "- Model: scenes-blip-itm" in card
    assert "<b>" not in card


@pytest.mark.parametrize(
    ("change", "is_changed"),
    [
        ({}, False), ({"corrected": 1}, True), ({"edited": 1}, True), ({"enriched": 1}, True),
        ({"shortened": 1}, True), ({"left_out": {"decided: removed": 1}}, True),
    ],
)  # fmt: skip
def test_only_what_was_changed_is_called_cleaned(change: dict[str, Any], is_changed: bool) -> None:
    values: dict[str, Any] = {"corrected": 0, "left_out": {}} | change
    counts = replace(COUNTS, **values)
    card = dataset_card(name="d", created_at=CREATED, version="1", facts={}, counts=counts)
    assert ("# d, cleaned" in card.splitlines()) == is_changed


def test_the_card_and_the_report_name_what_happened_and_nothing_else() -> None:
    names = {"corrected": "corrected", "edited": "edited in bulk", "enriched": "enriched",
             "shortened": "without some claims", "tagged": "tag"}  # fmt: skip
    for numbers in itertools.product((0, 11, 1234), repeat=len(names)):
        values: dict[str, Any] = dict(zip(names, numbers, strict=True))
        counts = replace(COUNTS, **values, total=9999, kept=8888, left_out={"x": 1111})
        card = dataset_card(name="d", created_at=CREATED, version="1", facts={}, counts=counts)
        (sentence,) = (line for line in card.splitlines() if line.startswith("8888 of 9999"))
        for text in (sentence, counts.in_words()):
            changes = [number for number in numbers if number]
            shown = [f"{number:,}" for number in changes]
            assert [each for each in re.findall(r"\b[0-9,]+\b", text) if each in shown] == shown
            assert " 0 " not in text
            assert "(0" not in text
            for name, word in names.items():
                assert (word in text) == bool(values[name]), (text, name)
        assert ("No caption was changed" in sentence) == (not any(numbers[:4]))


@pytest.mark.parametrize("format", ["webdataset", "parquet-images", "huggingface"])
def test_an_interrupted_sharded_export_resumes(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sizes, format: str
) -> None:
    sizes(SHARD=1)
    read: list[str] = []
    whole = shard_writing.image_and_ending

    def counted(image: Any) -> tuple[bytes, str]:
        read.append(str(image))
        return whole(image)

    monkeypatch.setattr(shard_writing, "image_and_ending", counted)

    out = tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        export(source, out, format, every=ends(rows(source)[:2], KeyboardInterrupt))
    assert not out.exists()
    assert len(read) == 2
    # As if another process had been killed: no running process has this id.
    (half,) = (p for p in tmp_path.iterdir() if p.name.startswith("."))
    half.rename(half.with_name(half.name.replace(f"-{os.getpid()}-", "-999999999-")))
    every = rows(source)
    assert export(source, out, format, every=every) == len(every)
    assert len(read) == len(every)  # none of them twice
    names = {path.name for path in out.rglob("*")}
    assert not [name for name in names if name.endswith((".half", ".finished"))]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]
    fresh = tmp_path / "fresh"
    export(source, fresh, format, every=every)
    sums = [(f / "SHA256SUMS").read_text().splitlines() for f in (out, fresh)]
    # Hugging Face's library gives every dataset that it writes a new fingerprint.
    varying = "state.json" if format == "huggingface" else ()
    resumed, other = ([line for line in of if not line.endswith(varying)] for of in sums)
    assert resumed == other


def test_rows_changed_since_the_interruption_are_written_again(
    source: Path, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(SHARD=1)
    out = tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        export(source, out, "webdataset", every=ends(rows(source), KeyboardInterrupt))
    fewer = [replace(rows(source)[0], caption="Another caption.")]
    export(source, out, "webdataset", every=fewer)
    (shard,) = out.glob("*.tar")
    with tarfile.open(shard) as archive:
        text = archive.extractfile("000000000.txt")
        assert text is not None
        assert text.read() == b"Another caption."
