"""Which rows of a dataset are read, which are not, and what is reported."""

from pathlib import Path

import pytest

from backend.datasets.read_options import ReadOptions
from backend.datasets.reading.dataset_reader import read_dataset
from backend.datasets.safe_files.containers import file_of
from backend.errors import DatasetFormatError, DatasetNotFound
from tests.datasets.folders import GOOD, csv_file, image_folder, malformed, picture, read, write


def test_a_malformed_dataset_yields_its_good_rows_and_reports_the_rest(tmp_path: Path) -> None:
    reader = read_dataset(malformed(tmp_path / "bad"))
    pairs = {pair.id: pair for pair in reader}
    assert len(pairs) == GOOD
    assert pairs["ok-html"].caption == "<img src=x onerror=alert(1)>${7*6}"
    assert pairs["ok-emoji"].caption == "🐕‍🦺 a dog 犬が走る كلب"
    assert len(pairs["ok-long"].caption) == 10_000
    assert pairs["17"].extra == {"source": {"x": [1]}}
    assert pairs["ok-two#1"].caption == "Second."
    reported = {(p.row, p.kind) for p in reader.problems}
    assert reported == {
        (2, "missing image"), (3, "unreadable image"), (5, "empty caption"), (6, "empty caption"),
        (10, "duplicate id"), (11, "unsafe path"), (14, "empty caption"), (15, "no image"),
        (16, "empty caption"), (17, "unreadable image"), (20, "unreadable row"),
        (21, "unreadable row"),
    }  # fmt: skip
    assert all(
        p.file == "metadata.jsonl" and p.message.endswith((".", ")")) for p in reader.problems
    )


def test_reading_again_gives_the_same_ids(tmp_path: Path) -> None:
    folder = malformed(tmp_path / "bad")
    reader = read_dataset(folder)
    first = [pair.id for pair in reader]
    assert [pair.id for pair in reader] == first == [pair.id for pair in read_dataset(folder)]


def test_a_csv_with_other_column_names_and_image_root_is_read(tmp_path: Path) -> None:
    picture(tmp_path / "pictures" / "x.png")
    rows = [
        {"Datei": "x.png", "Text": 'Ein Hund, "rot"', "nr": "7", "teil": "train"},
        {"Datei": "nope.png", "Text": "Eine Katze", "nr": "8", "teil": "test"},
    ]
    path = csv_file(tmp_path / "tables" / "t.csv", rows)
    columns = ReadOptions(
        image_column="Datei", caption_column="Text", id_column="nr", split_column="teil",
        image_root=tmp_path / "pictures",
    )  # fmt: skip
    reader = read_dataset(path, columns)
    (pair,) = list(reader)
    assert (pair.id, pair.caption, pair.split) == ("7", 'Ein Hund, "rot"', "train")
    assert pair.row == 2
    assert file_of(pair.image_path) == (tmp_path / "pictures" / "x.png").resolve()
    assert [(p.row, p.kind) for p in reader.problems] == [(3, "missing image")]


def test_a_line_with_too_many_cells_is_reported(tmp_path: Path) -> None:
    picture(tmp_path / "x.png")
    path = write(tmp_path / "t.csv", "image,caption\nx.png,a dog, running\nx.png,a dog\n")
    pairs, reader = read(path)
    assert [pair.caption for pair in pairs] == ["a dog"]
    assert "double quotes" in reader.problems[0].message


def test_a_parquet_table_is_read(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    picture(tmp_path / "x.png")
    table = pa.table({"image": ["x.png"] * 3, "caption": ["one", None, "three"], "id": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet")
    reader = read_dataset(tmp_path / "t.parquet")
    assert reader.total == 3
    assert [pair.id for pair in reader] == ["1", "3"]
    assert reader.problems[0].row == 2


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    secret = picture(tmp_path / "secret.png")
    picture(tmp_path / "outside" / "secret.png")
    names = ("a.png", "link.png", "folder/secret.png", "folder/../a.png", "..")
    rows = [{"file_name": name, "caption": "A."} for name in names]
    folder = image_folder(tmp_path / "d", rows, ("a.png",))
    (folder / "link.png").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path / "outside")
    reader = read_dataset(folder)
    assert [pair.row for pair in reader] == [1]
    assert [(p.row, p.kind) for p in reader.problems] == [(n, "unsafe path") for n in range(2, 6)]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "no header"),
        ("t.csv", "a,b\n1,2\n", "looks like the image path"),
        ("t.jsonl", "not json\n", "no rows that can be read"),
        ("t.parquet", "PAR?", "not a Parquet file"),
        ("t.docx", "", "is not a dataset"),
    ],
)
def test_files_that_are_not_datasets_are_reported(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    with pytest.raises(DatasetFormatError, match=message):
        read(write(tmp_path / name, content))


def test_missing_datasets_and_columns_are_reported(tmp_path: Path) -> None:
    with pytest.raises(DatasetNotFound):
        read_dataset(tmp_path / "nothing")
    with pytest.raises(DatasetFormatError, match=r"metadata\.jsonl"):
        read_dataset(tmp_path)
    path = csv_file(tmp_path / "t.csv", [{"image": "x.png", "caption": "A."}])
    with pytest.raises(DatasetFormatError, match="no column 'text'"):
        read(path, caption_column="text")
