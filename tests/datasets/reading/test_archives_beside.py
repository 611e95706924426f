"""A table beside the archives with its pictures."""

import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from backend.datasets.safe_files.containers import Member
from tests.datasets.folders import csv_file, encoded, json_lines, read, tar_bytes, write, zip_bytes

ROWS = [{"file_name": "a.png", "caption": "A dog."}, {"file_name": "x/b.png", "caption": "A cat."}]
PICTURES = {"a.png": encoded((9, 9)), "x/b.png": encoded((10, 9), "blue")}


def write_table(folder: Path, ending: str) -> Path:
    folder.mkdir(exist_ok=True)
    table = folder / f"metadata.{ending}"
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), table)
    elif ending == "csv":
        csv_file(table, ROWS)
    else:
        write(table, json_lines(ROWS))
    return table


def packed(path: Path, pictures: dict[str, bytes]) -> Path:
    is_tar = path.suffix == ".tar"
    return write(path, tar_bytes(pictures.items()) if is_tar else zip_bytes(pictures))


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("archive", ["images.tar", "images.zip", "images/0.tar"])
@pytest.mark.parametrize("above", ["", "images/", "data/set/", "./"])
@pytest.mark.parametrize("is_table", [False, True])
def test_the_pictures_are_found_by_the_names_of_members(
    tmp_path: Path, ending: str, archive: str, above: str, is_table: bool
) -> None:
    table = write_table(tmp_path, ending)
    packed(tmp_path / archive, {f"{above}{name}": content for name, content in PICTURES.items()})
    pairs, reader = read(table if is_table else tmp_path)
    assert reader.problems == []
    assert [pair.caption for pair in pairs] == ["A dog.", "A cat."]
    for pair, content in zip(pairs, PICTURES.values(), strict=True):
        assert isinstance(pair.image_path, Member)
        assert pair.image_path.read() == content


def test_pictures_in_several_tars(tmp_path: Path) -> None:
    write_table(tmp_path, "jsonl")
    for number, (name, content) in enumerate(PICTURES.items()):
        packed(tmp_path / f"{number}.tar", {name: content})
    pairs, reader = read(tmp_path)
    assert len(pairs) == 2
    assert reader.problems == []


def test_a_name_in_two_archives_or_twice_in_one_is_not_guessed(tmp_path: Path) -> None:
    write_table(tmp_path, "jsonl")
    packed(tmp_path / "0.tar", PICTURES)
    packed(tmp_path / "1.zip", {"a.png": encoded((8, 8))})
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A cat."]
    assert "0.tar" in reader.problems[0].message
    assert "1.zip" in reader.problems[0].message
    (tmp_path / "1.zip").unlink()
    write(tmp_path / "0.tar", tar_bytes([*PICTURES.items(), ("a.png", encoded((8, 8)))]))
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A cat."]
    assert [problem.row for problem in reader.problems] == [1]


def test_files_come_before_members(tmp_path: Path) -> None:
    write_table(tmp_path, "jsonl")
    write(tmp_path / "a.png", encoded((7, 7)))
    packed(tmp_path / "images.tar", PICTURES)
    pairs, reader = read(tmp_path)
    assert [isinstance(pair.image_path, Member) for pair in pairs] == [False, True]
    assert reader.problems == []


def test_a_cut_tar_gives_what_is_before_the_cut(tmp_path: Path) -> None:
    write_table(tmp_path, "jsonl")
    content = tar_bytes(PICTURES.items())
    write(tmp_path / "images.tar", content[: 3 * tarfile.BLOCKSIZE])
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog."]
    assert [problem.row for problem in reader.problems] == [2]
    assert any("images.tar" in note for note in reader.notes)


def test_a_table_may_name_the_tar(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "file_name": "images.tar!/a.png"}]
    write(tmp_path / "metadata.jsonl", json_lines(rows))
    packed(tmp_path / "images.tar", PICTURES)
    pairs, reader = read(tmp_path)
    assert len(pairs) == 1
    assert reader.problems == []


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("pairs.csv", "file_name,caption\na.png,A dog.\nx/b.png,A cat.\n"),
        ("results.json", json.dumps(ROWS)),
        ("captions.txt", "a.png,A dog.\nx/b.png,A cat.\n"),
    ],
)
def test_captions_of_tars_of_pictures_may_be_in_a_table_of_any_name(
    tmp_path: Path, file: str, content: str
) -> None:
    write(tmp_path / file, content)
    packed(tmp_path / "images.tar", PICTURES)
    pairs, reader = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A dog.", "A cat."]
    assert reader.problems == []


def test_tars_with_captions_come_before_tables_of_other_names(tmp_path: Path) -> None:
    csv_file(tmp_path / "pairs.csv", ROWS)
    packed(tmp_path / "0.tar", {"a.png": encoded(), "a.txt": b"A red square."})
    pairs, _ = read(tmp_path)
    assert [pair.caption for pair in pairs] == ["A red square."]
