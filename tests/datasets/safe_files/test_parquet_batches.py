"""Tables are read by batch: what is read, and that it says the same as cell by cell."""

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.reading.tables import rows_of
from backend.datasets.safe_files.arrow_cells import value_of, values_of
from backend.datasets.safe_files.containers import Member
from backend.datasets.safe_files.images import load_image
from backend.errors import DatasetFormatError
from tests.datasets.folders import encoded, read

_PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_TURN = pa.struct([("user", pa.string()), ("assistant", pa.string())])


def _conversations(path: Path, pictures: list[Any], kind: Any = None) -> Path:
    turns = [
        [{"user": "Describe the image.", "assistant": f"a dog, number {number}"}]
        for number in range(len(pictures))
    ]
    columns = {
        "images": pa.array(pictures, kind or pa.list_(_PICTURE)),
        "texts": pa.array(turns, pa.list_(_TURN)),
    }
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def test_pictures_of_lists_are_neither_read_with_the_rows_nor_twice_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [[{"bytes": encoded(), "path": f"{number}.png"}] for number in range(7)]
    table = _conversations(tmp_path / "t.parquet", pictures)
    columns: list[str] = []
    opened: list[str] = []
    read_group, content = pq.ParquetFile.read_row_group, Member._content

    def watch_group(file: Any, *arguments: Any, **options: Any) -> Any:
        columns.extend(options["columns"])
        return read_group(file, *arguments, **options)

    def watch_content(member: Member) -> bytes:
        opened.append(member.inner)
        return content(member)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", watch_group)
    monkeypatch.setattr(Member, "_content", watch_content)
    pairs = list(read_dataset(table))
    assert [pair.caption for pair in pairs] == [f"a dog, number {number}" for number in range(7)]
    assert columns
    assert all(name.endswith(".path") for name in columns)
    assert sorted(opened) == sorted(f"{number}/images/0" for number in range(7))


@pytest.mark.parametrize("kind", [pa.list_(_PICTURE), pa.large_list(_PICTURE)])
def test_lists_with_gaps_say_the_same_as_full_ones(tmp_path: Path, kind: Any) -> None:
    inside = {"bytes": encoded(), "path": "a.png"}
    outside = {"bytes": None, "path": "b.png"}
    lists = [[inside], [inside, inside], [], None, [outside], [inside, outside], [None], [inside]]
    table = _conversations(tmp_path / "t.parquet", lists, kind)
    cells = [row.values["images"] for row in rows_of(table) if row.values is not None]
    assert cells == [
        ["t.parquet!/0/images/0"],
        ["t.parquet!/1/images/0", "t.parquet!/1/images/1"],
        [],
        "",
        ["b.png"],
        ["t.parquet!/5/images/0", "b.png"],
        [""],
        ["t.parquet!/7/images/0"],
    ]


def test_lists_of_a_known_length_are_read(tmp_path: Path) -> None:
    pictures = [[{"bytes": encoded(), "path": "a.png"}] for _ in range(4)]
    table = _conversations(tmp_path / "t.parquet", pictures, pa.list_(_PICTURE, 1))
    assert [pair.image_path.name for pair in read_dataset(table)] == ["t.parquet!/0"] * 4


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(["a dog", None, ""]),
        pa.array([[1], None, []]),
        pa.array([{"a": [1, 2], "b": "x"}, None]),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array([b"a cat", b"caf\xe9"]).view(pa.string()),
        pa.array([0, 1 << 62], pa.timestamp("s")),
    ],
    ids=["texts", "lists", "objects", "dictionary", "not UTF-8", "year"],
)
def test_a_batch_says_the_same_as_its_cells(cells: Any) -> None:
    assert list(values_of(cells)) == [value_of(cell) for cell in cells]


def test_a_batch_that_expands_is_converted_cell_by_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("backend.datasets.safe_files.arrow_cells.LONGEST_LINE", 10)
    cells = pa.DictionaryArray.from_arrays([0] * 100, ["a long text"])
    assert not isinstance(values_of(cells), list)
    assert isinstance(values_of(cells[:0]), list)


@pytest.mark.parametrize("form", ["parquet", "saved"])
def test_lists_of_bytes_are_lists_of_pictures(tmp_path: Path, form: str) -> None:
    """As structs with bytes are; texts that are written as bytes stay texts."""
    pictures = [[encoded(colour="red")], [], [encoded(colour="blue")]]
    table = pa.table({
        "images": pa.array(pictures, pa.list_(pa.binary())),
        "caption": pa.array([[b"red"], [b"none"], [b"blue"]], pa.list_(pa.binary())),
    })  # fmt: skip
    path = tmp_path / ("t.parquet" if form == "parquet" else "saved")
    if form == "parquet":
        pq.write_table(table, path)
    else:
        datasets.Dataset(table).save_to_disk(str(path))
    pairs, reader = read(path)
    pixels = [load_image(pair.image_path).convert("RGB").getpixel((1, 1)) for pair in pairs]
    assert [pair.caption for pair in pairs] == ["red", "blue"]
    assert pixels == [(255, 0, 0), (0, 0, 255)]
    assert [problem.row for problem in reader.problems] == [2]


@pytest.mark.parametrize("form", ["parquet", "saved"])
@pytest.mark.parametrize("cell", [b"\0\x01\xff", [b"\0\x01\xff", b"\xfe"]], ids=["bytes", "lists"])
def test_bytes_that_are_no_pictures_are_no_column(tmp_path: Path, form: str, cell: Any) -> None:
    """They were the addresses of pictures, in each pair's columns."""
    row = {"photo": encoded(), "text": "A dog."}
    rows = [{**row, "hash": None}, {**row, "text": "A cat.", "hash": cell}]
    path = tmp_path / ("t.parquet" if form == "parquet" else "saved")
    table = pa.Table.from_pylist(rows)
    if form == "parquet":
        pq.write_table(table, path)
    else:
        datasets.Dataset(table).save_to_disk(str(path))
    pairs, reader = read(path)
    assert [(pair.caption, pair.extra) for pair in pairs] == [("A dog.", {}), ("A cat.", {})]
    assert reader.problems == []
    assert any("'hash'" in note for note in reader.notes)
    for column in ("image_column", "caption_column"):
        with pytest.raises(DatasetFormatError, match="hash"):
            read(path, **{column: "hash"})


@pytest.mark.parametrize("format", ["TGA", "ICO", "PCX"])
def test_bytes_of_any_picture_are_pictures(tmp_path: Path, format: str) -> None:
    rows = [{"photo": encoded((16, 16), format=format), "text": "A dog."}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    assert [pair.caption for pair in read(tmp_path / "t.parquet")[0]] == ["A dog."]


def test_pictures_may_stand_behind_many_empty_cells(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"photo": None, "text": f"{number}"} for number in range(120)]
    table = pa.Table.from_pylist([*rows, {"photo": encoded(), "text": "A dog."}])
    pq.write_table(table, tmp_path / "t.parquet")
    assert [pair.caption for pair in read(tmp_path / "t.parquet")[0]] == ["A dog."]


def test_a_text_that_is_not_utf_8_costs_its_row_alone(tmp_path: Path) -> None:
    captions = [b"A dog.", b"BMW caf\xe9"]
    rows = [{"image": encoded(), "caption": caption} for caption in captions]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    pairs, reader = read(tmp_path / "t.parquet")
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [2]
