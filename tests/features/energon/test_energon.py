"""Datasets of Megatron-Energon: splits, excludes and fields of the folder `.nv-meta`."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from backend.datasets.export_row import ExportRow
from backend.datasets.reading.dataset_reader import DatasetReader
from backend.datasets.reading.hub_download import fetch
from backend.datasets.reading.source_tables import SourceTables
from backend.errors import DatasetFormatError
from backend.features.energon.brace_ranges import expand
from tests.datasets.folders import encoded, make_tar, read, write
from tests.datasets.reading.test_hub_download import MOST, PETS, card, files_of, publish
from tests.datasets.reading.test_hub_download import captions as copied_captions
from tests.datasets.writing.test_export_loaders import write as export
from tests.fixtures.hub_server import Hub, dataset_hub

COLOURS = ("red", "blue", "green", "yellow")


def dataset(folder: Path, dataset: str = "", split: str | None = None) -> Path:
    """Two shards of two samples each, in `shards/`, with the files of `.nv-meta`."""
    for number in range(2):
        members = {}
        for colour in COLOURS[2 * number : 2 * number + 2]:
            members[f"{colour}.png"] = encoded(colour=colour)
            members[f"{colour}.txt"] = f"A {colour} square.".encode()
            detail = {"brief": f"In {colour}", "detailed": {"long": f"A square of {colour}."}}
            members[f"{colour}.json"] = json.dumps(detail).encode()
        make_tar(folder / "shards" / f"shard_{number:03d}.tar", members)
    (folder / ".nv-meta").mkdir()
    if dataset:
        write(folder / ".nv-meta" / "dataset.yaml", dataset)
    if split is not None:
        write(folder / ".nv-meta" / "split.yaml", split)
    return folder


def captions(folder: Path) -> tuple[list[tuple[str, str | None]], DatasetReader]:
    pairs, reader = read(folder)
    return [(pair.caption, pair.split) for pair in pairs], reader


SPLIT = """
exclude:
- shards/shard_000.tar/blue
split_parts:
  train: [shards/shard_000.tar]
  val: ["shards/shard_{001..001}.tar"]
  test: []
"""


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_splits_and_excluded_samples_are_those_of_the_folder(tmp_path: Path, ending: str) -> None:
    folder = dataset(tmp_path, split=SPLIT)
    if ending == "json":
        (folder / ".nv-meta" / "split.yaml").unlink()
        about = {"exclude": ["shards/shard_000.tar/blue"],
                 "split_parts": {"train": ["shards/shard_000.tar"],
                                 "val": ["shards/shard_001.tar"]}}  # fmt: skip
        write(folder / ".nv-meta" / "split.json", json.dumps(about))
    rows, reader = captions(folder)
    assert rows == [
        ("A red square.", "train"), ("A green square.", "validation"),
        ("A yellow square.", "validation"),
    ]  # fmt: skip
    assert reader.problems == []
    assert len(reader.notes) == 1  # one sample is left out


@pytest.mark.parametrize("source", ["shards", "shards/shard_000.tar"])
def test_a_part_of_the_dataset_is_read_likewise(tmp_path: Path, source: str) -> None:
    pairs, _ = read(dataset(tmp_path, split=SPLIT) / source)
    assert (pairs[0].caption, pairs[0].split) == ("A red square.", "train")
    assert "A blue square." not in [pair.caption for pair in pairs]


ALL = "split_parts: {train: ['shards/shard_{000..001}.tar']}\n"


#: A split, the samples that are read, and the number of notes.
SPLITS: dict[str, tuple[str | None, tuple[str, ...], int]] = {
    "whole shard": (f"exclude: ['shards/shard_{{001,007}}.tar']\n{ALL}", COLOURS[:2], 2),
    "all of a shard": (f"exclude: ['shards/shard_000.tar/{{red,blue}}']\n{ALL}", COLOURS[2:], 1),
    "no split": (None, COLOURS, 1),
    "shard gone": ("split_parts: {train: ['shards/shard_{000..002}.tar']}", COLOURS, 1),
    "shard of no split": ("split_parts: {train: [shards/shard_000.tar]}", COLOURS, 1),
    "of two splits": (
        "split_parts: {a: [shards/shard_000.tar], b: ['shards/shard_{000..001}.tar']}",
        COLOURS,
        1,
    ),
    "no such sample": (f"exclude: [shards/shard_000.tar/pink]\n{ALL}", COLOURS, 2),
    "neither shard nor sample": (f"exclude: [blue]\n{ALL}", COLOURS, 1),
}


@pytest.mark.parametrize(("split", "colours", "notes"), SPLITS.values(), ids=SPLITS.keys())
def test_what_is_left_out_and_what_does_not_fit_the_tars_is_said(
    tmp_path: Path, split: str | None, colours: tuple[str, ...], notes: int
) -> None:
    pairs, reader = read(dataset(tmp_path, split=split))
    assert [pair.caption for pair in pairs] == [f"A {colour} square." for colour in colours]
    assert reader.problems == []
    assert len(reader.notes) == notes


@pytest.mark.parametrize(
    "split",
    [
        "split_parts: [", "- a\n- b", "split_parts: {train: shard_0.tar}", "exclude: []",
        "split_parts: {train: [[a]]}", "split_parts: {train: []}\nexclude: {a: b}",
        "split_parts: {train: ['{0..9999999}.tar']}",
    ],
)  # fmt: skip
def test_a_broken_split_is_refused(tmp_path: Path, split: str) -> None:
    """Otherwise samples would be imported that it excludes."""
    with pytest.raises(DatasetFormatError):
        read(dataset(tmp_path, split=split))


@pytest.mark.parametrize(
    ("field", "caption"),
    [
        ("txt", "A red square."), ("json[brief]", "In red"),
        ("json[detailed][long]", "A square of red."), ("md,json[brief]", "In red"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("head", ["__class__: CaptioningWebdataset", "sample_type: {__class__: A}"])
def test_the_field_map_says_which_text_is_the_caption(
    tmp_path: Path, field: str, caption: str, head: str
) -> None:
    about = f"{head}\nfield_map:\n  image: png\n  caption: {field}\n"
    rows, reader = captions(dataset(tmp_path, about, SPLIT))
    assert rows[0] == (caption, "train")
    assert reader.problems == []


def test_samples_without_a_caption_need_a_field_to_be_named(tmp_path: Path) -> None:
    about = (
        "__class__: VQAWebdataset\nfield_map: {image: png, context: txt, answers: 'json[brief]'}"
    )
    folder = dataset(tmp_path, about, SPLIT)
    with pytest.raises(DatasetFormatError) as refusal:
        read(folder)
    assert "caption-column" in refusal.value.remedies["terminal"]
    pairs, _ = read(folder, caption_column="json[brief]")
    assert pairs[0].caption == "In red"


def test_code_of_a_dataset_is_not_run(tmp_path: Path) -> None:
    folder = dataset(tmp_path, "sample_loader: sample_loader.py:load\npart_filter: [txt]", SPLIT)
    write(folder / ".nv-meta" / "sample_loader.py", "raise SystemExit('run')")
    rows, reader = captions(folder)
    assert len(rows) == 3
    assert len(reader.notes) == 2


def test_ranges_of_names_are_expanded_within_limits() -> None:
    assert expand("{a..c}{2..0..2}") == ["a2", "a0", "b2", "b0", "c2", "c0"]
    assert expand("{-1..01}") == ["-1", "00", "01"]
    assert expand("a{b") == ["a{b"]
    assert expand("{" * 9000) == ["{" * 9000]
    for pattern in ("{0..99}" * 9, "{a," * 3000 + "}" * 3000, "x" * 20_000):
        with pytest.raises(DatasetFormatError):
            expand(pattern)


def test_a_source_without_the_folder_has_none(tmp_path: Path) -> None:
    make_tar(tmp_path / "a.tar", {"x.png": encoded(), "x.txt": b"A dog."})
    assert read(tmp_path)[1].source == SourceTables([tmp_path / "a.tar"])


def test_an_export_has_the_folder_and_is_read_by_it(tmp_path: Path) -> None:
    rows = []
    for number, colour in enumerate(("red", "green", "blue", "white", "black")):
        path = write(tmp_path / "source" / f"{colour}.png", encoded(colour=colour))
        split = "validation" if number > 2 else "train"
        rows.append(ExportRow(str(number), path, f"{colour}\n", f"{colour}\n", split))
    out = export(tmp_path / "source", tmp_path / "out", "webdataset", rows)
    about = yaml.safe_load((out / ".nv-meta/split.yaml").read_text())
    assert about["split_parts"] == {
        "train": ["train-000000.tar"], "val": ["validation-000000.tar"],
    }  # fmt: skip
    fields = yaml.safe_load((out / ".nv-meta/dataset.yaml").read_text())["field_map"]
    assert fields == {"image": "png", "caption": "txt"}
    counts = json.loads((out / ".nv-meta/.info.json").read_text())["shard_counts"]
    assert counts == {"train-000000.tar": 3, "validation-000000.tar": 2}
    assert (out / "SHA256SUMS").read_text().count(".nv-meta/") == 3
    pairs, reader = read(out)
    assert not reader.problems
    assert not any(".nv-meta" in note for note in reader.notes)
    assert [(pair.caption, pair.split) for pair in pairs] == [
        (row.caption, row.split) for row in rows
    ]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with dataset_hub(monkeypatch, tmp_path / "hub") as server:
        yield server


def test_what_says_which_samples_of_tars_count_is_copied_with_them(
    hub: Hub, tmp_path: Path
) -> None:
    """Without it, samples would be imported that the dataset leaves out."""
    source = dataset(
        tmp_path / "set",
        split=f"{ALL}exclude: ['shards/shard_000.tar/blue']\n",
    )
    expected = copied_captions(source)
    assert "A blue square." not in dict(expected).values()
    publish(hub, files_of(source))
    assert copied_captions(fetch(PETS, tmp_path / "copies", MOST)) == expected
    publish(
        hub,
        files_of(source)
        | {"README.md": card({"config_name": "default", "data_files": "shards/*.tar"})},
    )
    assert copied_captions(fetch(PETS, tmp_path / "others", MOST)) == expected
