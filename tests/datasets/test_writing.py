"""Exports: complete or not at all, and readable again."""

import hashlib
import os
import socket
import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from backend.datasets import shard_writing
from backend.datasets.card import dataset_card
from backend.datasets.export_row import ExportRow
from backend.datasets.read_options import ReadOptions
from backend.datasets.reading import read_dataset
from backend.datasets.writing import FORMATS, write_dataset
from backend.errors import ExportError
from backend.jobs.reports import ExportCounts
from tests.datasets.folders import picture
from tests.fixtures.sizes import Sizes

COUNTS = ExportCounts(10, 7, 2, 1, {"decided: wrong, drop": 3}, {"drop": 3, "undecided": 7})
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
            0.25, 0.5, 0.75, ("abstract",), {"caption": "taken", "width": i},
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


def test_an_interrupted_export_leaves_nothing(source: Path, tmp_path: Path) -> None:
    def broken() -> Iterator[ExportRow]:
        yield rows(source)[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export(source, tmp_path / "o", "jsonl", card="", every=broken())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["source"]


def test_a_failed_export_keeps_the_earlier_one(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    export(source, out, "jsonl", card="first")

    def failing() -> Iterator[ExportRow]:
        yield rows(source)[0]
        raise ExportError("verdicts changed meanwhile")

    with pytest.raises(ExportError, match="meanwhile"):
        export(source, out, "jsonl", card="second", every=failing())
    assert (out / "README.md").read_text().startswith("first\n")
    export(source, out, card="third", every=rows(source)[:2])
    assert (out / "README.md").read_text().startswith("third\n")
    assert not (out / "data.jsonl").exists()


def test_only_an_export_is_ever_replaced(source: Path, tmp_path: Path) -> None:
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


def test_foreign_files_survive_the_next_export(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"
    export(source, out, "imagefolder", card="first")
    mine = {
        "notes.txt": b"mine", "train/images/deep 0/mine.png": b"a picture", "own/deep/x.bin": b"\0",
        "back\\slash\nline": b"odd",
    }  # fmt: skip
    for name, content in mine.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_bytes(content)
    (out / "empty").mkdir()
    (out / "link").symlink_to(source)
    for number, format in enumerate(("csv", "webdataset", "imagefolder")):
        card = f"card {number}"
        export(source, out, format, card=card)
        assert {name: (out / name).read_bytes() for name in mine} == mine
        assert (out / "link").is_symlink()
        assert (out / "empty").is_dir()
        listed = (out / "SHA256SUMS").read_text("utf-8")
        assert "notes.txt" not in listed
    assert not (out / "data.csv").exists()
    assert not list(out.glob("*.tar"))
    assert len(list(source.rglob("*.png"))) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]


def test_a_changed_or_conflicting_file_stops_the_export(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "o"

    def again(format: str = "csv") -> None:
        export(source, out, format)

    again()
    (out / "data.jsonl").write_text("mine")
    with pytest.raises(ExportError, match=r"data\.jsonl.*not part of the earlier export"):
        again("jsonl")
    assert (out / "data.jsonl").read_text() == "mine"
    (out / "data.csv").write_text("worked over by hand")
    with pytest.raises(ExportError, match=r"data\.csv.*was changed after it was exported"):
        again()
    assert (out / "data.csv").read_text() == "worked over by hand"
    (out / "SHA256SUMS").unlink()
    with pytest.raises(ExportError, match="has lost its SHA256SUMS"):
        again()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]


def folder(path: Path) -> None:
    path.mkdir()
    (path / "mine").write_text("mine")


def link(path: Path) -> None:
    path.symlink_to(path.parent.parent / "victim")


#: What may be in an earlier export of a table, at a path that the next one needs.
IN_THE_WAY: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "folder": ("data.jsonl", folder, "jsonl"),
    "empty folder": ("data.jsonl", Path.mkdir, "jsonl"),
    "file": ("train", lambda path: path.write_text("mine"), "imagefolder"),
    "link to a folder": ("train", link, "imagefolder"),
    "link to nothing": ("data.jsonl", lambda path: path.symlink_to("nowhere"), "jsonl"),
    "pipe": ("data.jsonl", os.mkfifo, "jsonl"),
}


@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_a_conflicting_file_stays_and_no_partial_export_is_left(
    source: Path, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "thesis.txt").write_text("years of work")
    out = tmp_path / "o"
    name, make, format = IN_THE_WAY[kind]
    export(source, out)
    make(out / name)
    for _ in range(2):
        with pytest.raises(ExportError, match=f"'{name}.* is not part of the earlier export"):
            export(source, out, format)
    assert (out / "data.csv").is_file()
    assert os.path.lexists(out / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source", "victim"]
    assert (tmp_path / "victim" / "thesis.txt").read_text() == "years of work"


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
    host = socket.gethostname()
    victim = tmp_path / "victim"
    folder(victim)
    links = [f".o.{what}-999999999-{host}" for what in ("old", "part.csv", "part.webdataset")]
    for name in links:
        (tmp_path / name).symlink_to(victim)
    notes = tmp_path / f".o.notes-999999999-{host}"
    folder(notes)
    for format in ("csv", "webdataset"):
        export(source, tmp_path / "o", format)
    assert [p.name for p in victim.iterdir()] == ["mine"]
    assert (notes / "mine").is_file()
    assert all((tmp_path / name).is_symlink() for name in links)


@pytest.mark.parametrize("format", FORMATS)
def test_column_names_with_lone_surrogates_are_exported(
    source: Path, tmp_path: Path, format: str
) -> None:
    every = [replace(row, extra={"half \ud83d": "\udcff", "width": 7}) for row in rows(source)]
    out = tmp_path / "o"
    export(source, out, format, every=every)
    alone = next(out.glob("data.*"), None)
    reader = read_dataset(alone or out, ReadOptions(image_root=source if alone else None))
    assert {str(pair.extra["half \ufffd"]) for pair in reader} == {"\ufffd"}
    assert "half \ufffd" in (out / "README.md").read_text()


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
        export(source, tmp_path / "o", "imagefolder", card="", every=every)
    assert not (tmp_path / "o").exists()


def test_the_card_says_what_was_removed_and_why() -> None:
    card = dataset_card(
        name="my <b>data</b>", created=CREATED, version="1.0",
        facts={"Model": "scenes-blip-itm"}, counts=COUNTS,
    )  # fmt: skip
    assert "7 of 10" in card
    assert "left out, decided: wrong, drop | 3" in card
    assert "- Model: scenes-blip-itm" in card
    assert "<b>" not in card


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

    def stopped() -> Iterator[ExportRow]:
        yield from rows(source)[:2]
        raise KeyboardInterrupt

    out = tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        export(source, out, format, card="", every=stopped())
    assert not out.exists()
    assert len(read) == 2
    # As if another process had been killed: no running process has this id.
    (half,) = (p for p in tmp_path.iterdir() if p.name.startswith("."))
    half.rename(half.with_name(half.name.replace(f"-{os.getpid()}-", "-999999999-")))
    every = rows(source)
    assert export(source, out, format, card="", every=every) == len(every)
    assert len(read) == len(every)  # none of them twice
    names = {path.name for path in out.rglob("*")}
    assert not [name for name in names if name.endswith((".half", ".finished"))]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "source"]
    fresh = tmp_path / "fresh"
    export(source, fresh, format, card="", every=every)
    sums = [(f / "SHA256SUMS").read_text().splitlines() for f in (out, fresh)]
    # Hugging Face's library gives every dataset that it writes a new fingerprint.
    resumed, other = ([line for line in of if "state.json" not in line] for of in sums)
    assert resumed == other


def test_rows_changed_since_the_interruption_are_written_again(
    source: Path, tmp_path: Path, sizes: Sizes
) -> None:
    sizes(SHARD=1)

    def stopped() -> Iterator[ExportRow]:
        yield from rows(source)
        raise KeyboardInterrupt

    out = tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        export(source, out, "webdataset", card="", every=stopped())
    fewer = [replace(rows(source)[0], caption="Another caption.")]
    export(source, out, "webdataset", card="", every=fewer)
    (shard,) = out.glob("*.tar")
    with tarfile.open(shard) as archive:
        text = archive.extractfile("000000000.txt")
        assert text is not None
        assert text.read() == b"Another caption."
